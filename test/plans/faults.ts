import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import type { FaultRule, WatchRule } from '../../sandbox/api-server/server.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { differencesOf } from '../../src/workload/compare/semantic-compare.ts';
import type { GitFault } from './git-front.ts';
import type { HoldfastProcess } from './process.ts';
import type { World } from './world.ts';

/** When a fault begins: with the so many-th write, read or line of a watch of Holdfast, or so many seconds after the start. */
export interface Point {
  readonly on: 'write' | 'read' | 'line' | 'second';
  readonly n: number;
}

/** How the API server treats a request; 409 is for writes only. */
export type Refusal = 403 | 409 | 429 | 500 | 503 | 'drop' | 'cut' | 'hang';

/** One fault as it is drawn, kept and told. Durations in seconds. */
export type PlannedFault = { readonly at: Point } & (
  | { readonly kind: 'refuse'; readonly how: Refusal; readonly times: number }
  /** `writesOf`: of writes of this resource alone, as a webhook or a quota refuses them. */
  | {
      readonly kind: 'storm';
      readonly how: Refusal;
      readonly seconds: number;
      readonly writesOf?: string;
    }
  | { readonly kind: 'slow'; readonly byMs: number; readonly seconds: number }
  /** The API server is away, and then remembers nothing for watches. */
  | { readonly kind: 'restart'; readonly seconds: number }
  /** Lines of watches: never told, told again, or followed by what was before (time travel). */
  | {
      readonly kind: 'watch';
      readonly how: 'hide' | 'repeat' | 'back';
      readonly times: number;
      readonly every?: number;
    }
  /** Nothing comes over the watches of one kind (all kinds when absent). */
  | { readonly kind: 'stale'; readonly of?: string; readonly seconds: number }
  /** What happens to objects of one kind is never told. */
  | { readonly kind: 'blind'; readonly of: string; readonly seconds: number }
  | {
      readonly kind: 'git';
      readonly how: 'drop' | 'cut' | 'slow' | 500 | 503 | 403;
      readonly seconds: number;
    }
  /** Pushes alone; `race`: somebody else is faster. */
  | {
      readonly kind: 'push';
      readonly how: 'drop' | 'cut' | 'slow' | 500 | 503 | 'race';
      readonly times: number;
    }
  | { readonly kind: 'metrics'; readonly how: 'drop' | 503 | 400; readonly seconds: number }
  | {
      readonly kind: 'hooks';
      readonly how: 'drop' | 'cut' | 'slow' | 500 | 403;
      readonly seconds: number;
    }
  /** With the write that begins it, before or after the server carried it out. */
  | {
      readonly kind: 'kill';
      readonly carriedOut: boolean;
      readonly seconds: number;
      readonly sameData: boolean;
      readonly wallOffsetHours: number;
    }
  | { readonly kind: 'stop'; readonly seconds: number }
  /** The leader reaches everything but the Lease. */
  | { readonly kind: 'partition'; readonly seconds: number }
  /** Somebody with kubectl deletes what Holdfast made, or scales it. */
  | { readonly kind: 'person'; readonly does: PersonsDeed; readonly path: string }
  /** Another controller does this to an object again, so long after each write of it. */
  | {
      readonly kind: 'rival';
      readonly does: RivalsDeed;
      readonly path: string;
      readonly afterMs: number;
      readonly seconds: number;
    }
);

/** What somebody does to an object by hand. */
export type PersonsDeed = 'delete' | 'scale to 0' | 'scale to 1' | 'evict a pod';

/** What another controller makes of an object again and again. */
export type RivalsDeed = 'select other pods' | 'scale to 1' | 'route to the primary';

type ApiFault = ReturnType<FaultRule>;
type WatchLine = Parameters<WatchRule>[0];

/** What a request of Holdfast is. */
export type RequestClass = 'write' | 'read' | 'lease' | 'metrics' | 'watch' | 'review';

/** How a fault behaves from the moment at which it begins. */
interface Behaviour {
  /** Absent: it ends by itself. */
  readonly seconds?: number;
  readonly begin?: (world: World, sender: HoldfastProcess | undefined) => void;
  readonly request?: (request: ApiRequest, what: RequestClass) => ApiFault;
  readonly line?: (line: WatchLine) => ReturnType<WatchRule>;
  readonly git?: (isPush: boolean) => GitFault | undefined;
  readonly hook?: () => GitFault | undefined;
  readonly end?: (world: World) => void;
}

/** What Holdfast has done so far. */
export interface Tally {
  write: number;
  read: number;
  line: number;
}

interface Armed {
  readonly at: Point;
  readonly behaviour: Behaviour;
  state: 'waiting' | 'active' | 'over';
}

/** Sets up these faults in a world; what is returned counts on. */
export function arm(world: World, faults: readonly PlannedFault[]): Tally {
  const tally: Tally = { write: 0, read: 0, line: 0 };
  const armed: Armed[] = faults.map((fault) => ({
    at: fault.at,
    behaviour: behaviourOf(world, fault),
    state: 'waiting',
  }));

  function begin(one: Armed, sender?: HoldfastProcess): void {
    one.state = 'active';
    one.behaviour.begin?.(world, sender);
    const { seconds } = one.behaviour;
    if (seconds === undefined) return;
    world.clock.after(seconds * 1000, () => {
      one.state = 'over';
      one.behaviour.end?.(world);
    });
  }

  function beginDue(on: Point['on'], userAgent: string): void {
    const n = on === 'second' ? 0 : tally[on];
    const sender = world.processes.find((each) => each.userAgent === userAgent);
    for (const one of armed)
      if (one.state === 'waiting' && one.at.on === on && one.at.n === n) begin(one, sender);
  }

  const active = () => armed.filter(({ state }) => state === 'active').map(({ behaviour }) => behaviour);
  world.sandbox.fault((request) => {
    if (!request.userAgent.startsWith('holdfast/')) return undefined;
    const what = classOf(request);
    if (what === 'write' || what === 'read') {
      tally[what] += 1;
      beginDue(what, request.userAgent);
    }
    return first(active(), (each) => each.request?.(request, what));
  });
  world.sandbox.perturbWatches((line) => {
    if (!line.userAgent.startsWith('holdfast/') || line.type === 'BOOKMARK') return undefined;
    // A server that leaves something out of the state it gives lies, which no client survives.
    if (line.isState) return undefined;
    // Those of the election are few, and its own tests are about them.
    if (line.storageKey.startsWith('coordination')) return undefined;
    tally.line += 1;
    beginDue('line', line.userAgent);
    return first(active(), (each) => each.line?.(line));
  });
  world.git.fault = (isPush) => first(active(), (each) => each.git?.(isPush));
  world.git.hooks.fault = () => first(active(), (each) => each.hook?.());
  for (const one of armed) if (one.at.on === 'second') world.clock.after(one.at.n * 1000, () => begin(one));
  return tally;
}

function first<T, R>(all: readonly T[], ask: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const answer = ask(one);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function classOf({ method, path, query }: ApiRequest): RequestClass {
  if (path.startsWith('/prometheus')) return 'metrics';
  if (path.includes('/leases')) return 'lease';
  if (path.includes('accessreviews')) return 'review';
  if (method === 'GET') return query.get('watch') === 'true' ? 'watch' : 'read';
  return query.get('dryRun') === 'All' ? 'read' : 'write';
}

function behaviourOf(world: World, fault: PlannedFault): Behaviour {
  switch (fault.kind) {
    case 'refuse':
      return refuse(fault);
    case 'storm':
      return {
        seconds: fault.seconds,
        request: ({ path }, what) => {
          const { how, writesOf } = fault;
          const isMeant = writesOf ? what === 'write' && path.includes(`/${writesOf}`) : isOfApi(what);
          return isMeant ? refusal(how, what) : undefined;
        },
      };
    case 'slow':
      return {
        seconds: fault.seconds,
        request: (_, what) => (isOfApi(what) ? { until: world.wait(fault.byMs) } : undefined),
      };
    case 'restart':
      return {
        seconds: fault.seconds,
        begin: ({ sandbox }) => sandbox.cutWatches('reset'),
        request: (_, what) => (what === 'metrics' ? undefined : 'drop'),
        end: ({ sandbox }) => sandbox.expireHistory(),
      };
    case 'watch':
      return perturb(fault);
    case 'stale': {
      let end: () => void = () => undefined;
      const until = new Promise<void>((resolve) => (end = resolve));
      return {
        seconds: fault.seconds,
        line: ({ storageKey }) => (fault.of === undefined || fault.of === storageKey ? { until } : undefined),
        end,
      };
    }
    case 'blind':
      return {
        seconds: fault.seconds,
        line: ({ storageKey }) => (fault.of === storageKey ? [] : undefined),
      };
    case 'git':
      return { seconds: fault.seconds, git: () => gitFault(world, fault.how) };
    case 'push':
      return refusePushes(world, fault);
    case 'hooks':
      return { seconds: fault.seconds, hook: () => gitFault(world, fault.how) };
    case 'metrics':
      return {
        seconds: fault.seconds,
        request: (_, what) =>
          what !== 'metrics' ? undefined : fault.how === 'drop' ? 'drop' : { code: fault.how },
      };
    case 'kill':
      return kill(fault);
    case 'stop':
      return stop(fault.seconds);
    case 'partition':
      return partition(fault.seconds);
    case 'person':
      return { begin: () => void actByHand(world, fault) };
    case 'rival':
      return rival(world, fault);
  }
}

function isOfApi(what: RequestClass): boolean {
  return what !== 'metrics' && what !== 'lease';
}

function refusal(how: Refusal, what: RequestClass): ApiFault {
  if (typeof how === 'string') return how;
  if (how === 409 && what !== 'write') return undefined;
  const reasons = {
    403: 'Forbidden',
    409: 'Conflict',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  };
  return { code: how, reason: reasons[how] };
}

function refuse({ at, how, times }: Extract<PlannedFault, { kind: 'refuse' }>): Behaviour {
  let left = times;
  return {
    request(_, what) {
      if (what !== at.on || left === 0) return undefined;
      left -= 1;
      return refusal(how, what);
    },
  };
}

/** From the line that begins it on: so many lines, or each so many-th of all that follow. */
function perturb({ how, times, every }: Extract<PlannedFault, { kind: 'watch' }>): Behaviour {
  const before = new Map<string, WatchLine>();
  let seen = 0;
  return {
    line(line) {
      const { metadata } = line.object as { metadata?: { namespace?: string; name?: string } };
      const key = `${line.userAgent} ${line.storageKey} ${metadata?.namespace}/${metadata?.name}`;
      const last = before.get(key);
      before.set(key, line);
      seen += 1;
      if (every === undefined ? seen > times : seen % every !== 1) return undefined;
      if (how === 'hide') return [];
      return [line, how === 'back' && last ? { ...last, type: 'MODIFIED' } : line];
    },
  };
}

function gitFault(world: World, how: Extract<PlannedFault, { kind: 'git' | 'hooks' }>['how']): GitFault {
  if (how === 'slow') return { until: world.wait(8_000) };
  return typeof how === 'number' ? { code: how } : how;
}

function refusePushes(world: World, { how, times }: Extract<PlannedFault, { kind: 'push' }>): Behaviour {
  let left = times;
  return {
    git(isPush) {
      if (!isPush || left === 0) return undefined;
      left -= 1;
      return how === 'race'
        ? { until: world.git.commit({ [`note-${left}.txt`]: 'faster\n' }) }
        : gitFault(world, how);
    },
  };
}

const hourMs = 3_600_000;

function kill({
  carriedOut,
  seconds,
  sameData,
  wallOffsetHours,
}: Extract<PlannedFault, { kind: 'kill' }>): Behaviour {
  let isOver = false;
  return {
    begin(world, sender) {
      const victim = sender ?? world.processes[0];
      if (!victim) return;
      world.kill(victim);
      const wallOffsetMs = wallOffsetHours * hourMs;
      const again = sameData ? { dataDirectory: victim.dataDirectory } : {};
      world.clock.after(seconds * 1000, () => void world.start({ wallOffsetMs, ...again }));
    },
    request() {
      if (isOver) return undefined;
      isOver = true;
      return carriedOut ? 'cut' : 'drop';
    },
  };
}

/** An object that is not there is left alone. A pod to evict is one of the workload with this path, as when its node is drained. */
async function actByHand(
  world: World,
  { does, path }: Extract<PlannedFault, { kind: 'person' }>,
): Promise<void> {
  if (does === 'evict a pod') return evict(world, path.slice(path.lastIndexOf('/') + 1));
  const spec = { replicas: does === 'scale to 0' ? 0 : 1 };
  const asked =
    does === 'delete'
      ? world.send('DELETE', path)
      : world.send('PATCH', path, { spec }, 'application/merge-patch+json');
  await asked.catch(() => undefined);
}

async function evict(world: World, workload: string): Promise<void> {
  const isOfPrimary = (name: string) => name.startsWith('web-primary');
  const pod = world.sandbox.store
    .list('/pods', 'shop')
    .map(({ metadata }) => metadata.name)
    .find((name) => name.startsWith(`${workload}-`) && isOfPrimary(name) === isOfPrimary(workload));
  if (pod) await world.send('DELETE', `/api/v1/namespaces/shop/pods/${pod}`).catch(() => undefined);
}

const rivals: Readonly<Record<RivalsDeed, (object: KubernetesObject) => object>> = {
  'select other pods': () => ({ spec: { selector: { app: 'theirs' } } }),
  'scale to 1': () => ({ spec: { replicas: 1 } }),
  'route to the primary': (route) => {
    const { rules } = route.spec as {
      rules: ReadonlyArray<{ backendRefs: ReadonlyArray<{ name: string }> }>;
    };
    const toPrimary = (backend: { name: string }) => {
      return { ...backend, weight: backend.name === 'web-primary' ? 100 : 0 };
    };
    return {
      spec: { rules: rules.map((rule) => ({ ...rule, backendRefs: rule.backendRefs.map(toPrimary) })) },
    };
  },
};

/** It leaves alone what is as it wants it, and what is not there. */
function rival(
  world: World,
  { does, path, afterMs, seconds }: Extract<PlannedFault, { kind: 'rival' }>,
): Behaviour {
  const [key, name] = placeOf(path);
  let isActive = true;
  let isDue = false;
  const undo = () => {
    isDue = false;
    const object = world.sandbox.store.get(key, 'shop', name);
    const wanted = object && rivals[does](object);
    if (!isActive || !wanted || differencesOf(object, wanted).length === 0) return;
    const asked = world.send('PATCH', `${path}?fieldManager=rival`, wanted, 'application/merge-patch+json');
    void asked.catch(() => undefined);
  };
  return {
    seconds,
    begin: ({ sandbox, clock }) => {
      sandbox.store.subscribe(({ storageKey, object }) => {
        if (!isActive || isDue || storageKey !== key || object.metadata.name !== name) return;
        isDue = true;
        clock.after(afterMs, undo);
      });
      undo();
    },
    end: () => {
      isActive = false;
    },
  };
}

/** The key of the kind in the store, and the name, of the object with this path. */
function placeOf(path: string): [key: string, name: string] {
  const [, root, group = ''] = path.split('/');
  const [plural = '', name = ''] = path.split('/').slice(-2);
  return [`${root === 'api' ? '' : group}/${plural}`, name];
}

function stop(seconds: number): Behaviour {
  let victim: HoldfastProcess | undefined;
  return {
    seconds,
    begin(world, sender) {
      victim = sender ?? world.processes[0];
      victim?.stop();
    },
    end: () => victim?.go(),
  };
}

function partition(seconds: number): Behaviour {
  let victim: HoldfastProcess | undefined;
  return {
    seconds,
    begin(world, sender) {
      victim = sender ?? world.processes[0];
    },
    request: ({ userAgent }, what) =>
      what === 'lease' && userAgent === victim?.userAgent ? 'drop' : undefined,
  };
}
