import { Agent, request as httpRequest } from 'node:http';

/** What to ask of Envoy, and how often. */
export interface LoadOptions {
  /** Envoy's address, as useBed() gives it. */
  readonly envoyUrl: string;
  /** The Host header: which route is meant. */
  readonly hostHeader: string;
  readonly path?: string;
  readonly requestsPerSecond: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that did not get a 2xx answer. */
export interface LoadFailure {
  /** When it was sent, milliseconds since 1970. */
  readonly at: number;
  /** The status, or 0 when none came. */
  readonly status: number;
  readonly detail: string;
  /** Who answered, when it was the bed's program. */
  readonly version?: string;
  readonly role?: string;
  readonly pod?: string;
}

/** What a load has seen. */
export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  /** Answers by the version that gave them, failed ones included. */
  readonly byVersion: Readonly<Record<string, number>>;
  /** The same by `<version>/<role>`, role being primary or canary. */
  readonly byVersionAndRole: Readonly<Record<string, number>>;
  readonly failures: readonly LoadFailure[];
  /** Requests that were left out because their time was over by more than a quarter of a second: the test machine was too busy to keep the rate. */
  readonly leftOut: number;
  /** Pods that answered, by name. */
  readonly pods: ReadonlySet<string>;
}

/** A load at work. */
export interface Load {
  /** What has been seen up to now. */
  current(): Promise<LoadResult>;
  /** Sends nothing more, waits for the open requests and returns everything seen. */
  stop(): Promise<LoadResult>;
}

interface Answer {
  readonly version?: string;
  readonly role?: string;
  readonly pod?: string;
}

const SHORTEST_TICK_MS = 10;
/** Longer than Envoy waits for a pod, which it tells with 504: what ends here is the fault of nobody but the machine's. */
const REQUEST_TIMEOUT_MS = 60_000;
const LATE_MS = 250;
/** Well before Contour's 60 s: a request on a connection that Envoy closes in the same moment is lost, and no fault of what is tested. */
const IDLE_CONNECTION_MS = 20_000;

/**
 * Sends requests at a constant rate over kept-alive connections until stopped; slow answers do not slow it down. What a busy machine could
 * not send in time is left out: all of it at once would be more than the rate, and more than some pods are made to carry.
 */
export function startLoad(options: LoadOptions): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_CONNECTION_MS });
  const failures: LoadFailure[] = [];
  const byVersion: Record<string, number> = {};
  const byVersionAndRole: Record<string, number> = {};
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  let turn = 0;
  let answered = 0;
  let leftOut = 0;
  const pods = new Set<string>();

  const count = ({ version, role, pod }: Answer) => {
    if (version === undefined) return;
    if (pod) pods.add(pod);
    byVersion[version] = (byVersion[version] ?? 0) + 1;
    const key = `${version}/${role}`;
    byVersionAndRole[key] = (byVersionAndRole[key] ?? 0) + 1;
  };
  const sendOne = async () => {
    const at = Date.now();
    const { status, text } = await ask(options, agent);
    const answer = parseAnswer(text);
    answered++;
    count(answer);
    if (status < 200 || status > 299) failures.push({ at, status, detail: text.slice(0, 200), ...answer });
  };
  // No oftener than there is something to send: a hundred looks a second cost more than half of what 25 requests do.
  const tickMs = Math.max(SHORTEST_TICK_MS, 1000 / options.requestsPerSecond);
  const look = () => {
    const elapsedMs = performance.now() - startedAt;
    const due = Math.floor((elapsedMs * options.requestsPerSecond) / 1000);
    while (turn < due) {
      const isLate = elapsedMs - (turn * 1000) / options.requestsPerSecond > LATE_MS;
      turn++;
      if (isLate) {
        leftOut++;
        continue;
      }
      const one = sendOne().finally(() => open.delete(one));
      open.add(one);
    }
    timer = next();
  };
  /** Loads of one process send at the same moments; timers are a millisecond early now and then. */
  const next = () => {
    const nowMs = performance.now();
    return setTimeout(look, (Math.round(nowMs / tickMs) + 1) * tickMs - nowMs);
  };
  let timer = next();

  const current = async (): Promise<LoadResult> => ({
    requests: answered,
    failed: failures.length,
    byVersion: { ...byVersion },
    byVersionAndRole: { ...byVersionAndRole },
    failures: [...failures],
    leftOut,
    pods: new Set(pods),
  });
  const stop = async () => {
    clearTimeout(timer);
    await Promise.all(open);
    agent.destroy();
    return current();
  };
  return { current, stop };
}

/** One GET; a connection that fails or takes too long counts as status 0. */
function ask(
  options: LoadOptions,
  agent: Agent,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve) => {
    const headers = { ...options.headers, host: options.hostHeader };
    const url = new URL(options.path ?? '/', options.envoyUrl);
    const request = httpRequest(url, { agent, headers, timeout: REQUEST_TIMEOUT_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', (error) => resolve({ status: 0, text: error.message }));
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${REQUEST_TIMEOUT_MS} ms`)));
    request.on('error', (error) => resolve({ status: 0, text: error.message }));
    request.end();
  });
}

function parseAnswer(text: string): Answer {
  try {
    const { version, role, pod } = JSON.parse(text) as Answer;
    return version === undefined ? {} : ({ version, role, pod } as Answer);
  } catch {
    return {};
  }
}
