import type { Answer, Route } from './http-server.ts';

/** How the program fares, asked at each probe. */
export interface Health {
  /** What keeps it from being ready, for people; empty when it is. A copy that waits for the Lease is ready. */
  problems(): readonly string[];
  /** `leading`, or who does. */
  leadership(): string;
}

/** `/healthz`: the process answers. `/readyz`: it can do its work. */
export function healthRoutes(health: Health): Route[] {
  return [
    { method: 'GET', path: '/healthz', handle: () => ({ status: 200, body: 'OK\n' }) },
    { method: 'GET', path: '/readyz', handle: () => readiness(health) },
  ];
}

function readiness(health: Health): Answer {
  const problems = health.problems();
  if (problems.length === 0) return { status: 200, body: `ready, ${health.leadership()}\n` };
  return { status: 503, body: `${problems.join('\n')}\n` };
}
