import { get } from 'node:http';
import { get as getByTls } from 'node:https';
import { connect } from 'node:net';
import type { Container } from '../../../../src/api/kubernetes.ts';

/** A readiness or liveness probe as the pod's spec holds it; the API server has filled in the defaults. */
export interface Probe {
  readonly httpGet?: {
    readonly path?: string;
    readonly port: number | string;
    readonly scheme?: string;
    readonly httpHeaders?: ReadonlyArray<{ readonly name: string; readonly value: string }>;
  };
  readonly tcpSocket?: { readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

const DEFAULT_PERIOD_SECONDS = 10;
const READY_PERIOD_MS = 3_000;
const UNDECIDED_PERIOD_MS = 250;
/** Most programs answer within this time of their start. */
const FIRST_PAUSE_MS = 25;
/** A machine that is busy for a second is no pod that is ill: nothing on the bed answers a probe late on purpose. */
const SHORTEST_TIMEOUT_MS = 10_000;

/** How often a probe is made: until the first success after a pause that doubles with each try, and then. */
interface Pace {
  readonly firstMs: number;
  readonly longestMs: number;
  readonly thenMs: number;
}

/**
 * Until the first success four times a second, and oftener at first; then every 3 s, as nothing on the bed stops being ready before it ends, or at
 * the spec's period where that is longer. 10 s, the API server's default, is not.
 */
export function readinessPace({ periodSeconds = DEFAULT_PERIOD_SECONDS }: Probe): Pace {
  const periodMs = periodSeconds === DEFAULT_PERIOD_SECONDS ? 0 : periodSeconds * 1000;
  const thenMs = Math.max(READY_PERIOD_MS, periodMs);
  return { firstMs: FIRST_PAUSE_MS, longestMs: UNDECIDED_PERIOD_MS, thenMs };
}

/** The spec's period: a program that is still starting on a busy machine must not be ended for it. */
export function livenessPace({ periodSeconds = DEFAULT_PERIOD_SECONDS }: Probe): Pace {
  const periodMs = periodSeconds * 1000;
  return { firstMs: periodMs, longestMs: periodMs, thenMs: periodMs };
}

/** Probes until `signal` aborts and reports every change of the verdict. */
export function watchProbe(
  probe: Probe,
  { firstMs, longestMs, thenMs }: Pace,
  { container, address }: { readonly container: Container; readonly address: string },
  report: (passes: boolean) => void,
  signal: AbortSignal,
): void {
  let verdict: boolean | undefined;
  let streak = 0;
  let last: boolean | undefined;
  let pauseMs = firstMs;
  const round = async () => {
    if (signal.aborted) return;
    const passes = await probeOnce(probe, container, address);
    if (signal.aborted) return;
    streak = passes === last ? streak + 1 : 1;
    last = passes;
    const needed = passes ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
    if (streak >= needed && verdict !== passes) {
      verdict = passes;
      report(passes);
    }
    schedule(verdict === true ? thenMs : pauseMs);
    pauseMs = Math.min(2 * pauseMs, longestMs);
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = (delayMs: number) => {
    timer = setTimeout(() => void round(), delayMs);
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  schedule((probe.initialDelaySeconds ?? 0) * 1000 + FIRST_PAUSE_MS);
}

/** One try; probes of other kinds (exec, grpc) pass, because the bed's processes have nothing to answer them with. */
function probeOnce(probe: Probe, container: Container, host: string): Promise<boolean> {
  const timeout = Math.max((probe.timeoutSeconds ?? 1) * 1000, SHORTEST_TIMEOUT_MS);
  return new Promise((resolve) => {
    if (probe.httpGet) {
      const { path = '/', port, scheme, httpHeaders = [] } = probe.httpGet;
      const given = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
      const headers = { 'User-Agent': 'kube-probe/1.36', ...given };
      const place = { host, port: portNumber(port, container), path, headers };
      const options = { ...place, agent: false, rejectUnauthorized: false, timeout } as const;
      const request = (scheme === 'HTTPS' ? getByTls : get)(options, (response) => {
        response.resume();
        resolve((response.statusCode ?? 0) >= 200 && (response.statusCode ?? 0) < 400);
      });
      request.on('timeout', () => request.destroy(new Error('timeout')));
      request.on('error', () => resolve(false));
    } else if (probe.tcpSocket) {
      const socket = connect({ host, port: portNumber(probe.tcpSocket.port, container), timeout });
      const end = (passes: boolean) => {
        socket.destroy();
        resolve(passes);
      };
      socket
        .on('connect', () => end(true))
        .on('timeout', () => end(false))
        .on('error', () => end(false));
    } else {
      resolve(true);
    }
  });
}

function portNumber(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  return container.ports?.find(({ name }) => name === port)?.containerPort ?? 0;
}
