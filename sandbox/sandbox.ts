import { type Clock, systemClock } from '../src/api/clock.ts';
import { builtinKinds } from './api-server/builtin-kinds.ts';
import { serveCustomResources } from './api-server/custom-resources.ts';
import { createKindRegistry } from './api-server/kinds.ts';
import { createLister } from './api-server/list.ts';
import { type ApiWorld, createObject } from './api-server/object-writer.ts';
import type { AccessRule, TokenRule } from './api-server/reviews.ts';
import {
  createApiServer,
  createRequestLog,
  type FaultRule,
  type RequestLog,
  type WatchRule,
} from './api-server/server.ts';
import { createStore, type Store } from './api-server/store.ts';
import type { Watch } from './api-server/watch.ts';
import { type ControllerLoop, createControllerLoop } from './controllers/controller.ts';
import { createGateway, type RouteRule } from './controllers/gateway.ts';
import { type Behaviour, type BehaviourOptions, createBehaviour } from './controllers/pod-behaviour.ts';
import { podLog } from './controllers/pod-logs.ts';
import { sandboxNodes } from './controllers/pods.ts';
import { startControllers } from './controllers/start-controllers.ts';
import { listen } from './listening.ts';
import { answerQuery } from './traffic/prometheus-api.ts';
import {
  createTraffic,
  type SamplerOptions,
  type TrafficSampler,
  type TrafficView,
} from './traffic/traffic.ts';

const REQUEST_LOG_LIMIT = 20_000;

/** How to start a sandbox. */
interface SandboxOptions extends BehaviourOptions {
  /** Drives controllers; default the machine's clock. */
  readonly clock?: Clock;
  /** Drives bookmarks and time-outs of watches: the clock of the clients' connections, by default `clock`. */
  readonly network?: Clock;
  /** Default: any free port. */
  readonly port?: number;
  readonly host?: '127.0.0.1';
  /** Changes each kind remembers for watches; older versions answer 410. Default 1000. */
  readonly historyLimit?: number;
  /** How long a deleted pod takes to stop; default 100 ms. */
  readonly terminationMs?: number;
}

/** What becomes of an object of the kind with this key in the store (`apps/deployments`) before it is stored. */
type WebhookRule = ApiWorld['mutate'];

/** A running in-process Kubernetes API. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** A kubeconfig for it, as YAML (JSON is YAML). */
  readonly kubeconfig: string;
  /** Direct access for tests; write through the API instead. */
  readonly store: Store;
  readonly behaviour: Behaviour;
  readonly requests: RequestLog;
  /** Base URL for a Prometheus client; answers the queries of `prometheus-api.ts`. */
  readonly prometheusUrl: string;
  /** What would happen to requests for this apex Service right now. */
  traffic(namespace: string, apexService: string): TrafficView;
  /** Counts requests and failures of an apex Service over time. */
  sampleTraffic(options: SamplerOptions): TrafficSampler;
  /**
   * From now on the gateway's controller ignores the routes of this rule, by default all: their status stays at its generation, and requests
   * follow the state that was accepted before. The returned function resumes it.
   */
  holdRoutes(rule?: RouteRule): () => void;
  /** Adds a rule that answers, cuts or leaves hanging matching requests; the returned function takes it away. */
  fault(rule: FaultRule): () => void;
  /** Adds a rule that hides, repeats or delays lines of watches; the returned function takes it away. */
  perturbWatches(rule: WatchRule): () => void;
  /** Adds a mutating admission webhook, which is asked in dry runs, too; the returned function takes it away. */
  webhook(rule: WebhookRule): () => void;
  /** From now on this rule decides what impersonated users may write; before, all users may do everything. */
  authorize(rule: AccessRule): void;
  /** From now on this rule maps tokens to users; before, every token is the name of its user. */
  authenticate(rule: TokenRule): void;
  /** Stops the controller of EndpointSlices; the returned function resumes it. */
  holdEndpoints(): () => void;
  /** Forgets all watch history and continue tokens: resuming clients get 410. */
  expireHistory(): void;
  /** How many watches are open. */
  watches(): number;
  /** Cuts every open watch, mid-stream (`reset`) or in order (`end`). */
  cutWatches(how: 'reset' | 'end'): void;
  /** Sends a bookmark to every open watch that allows them. */
  bookmark(): void;
  /** Closes the port and stops every timer. */
  close(): Promise<void>;
}

/** Starts the API with namespaces `default` and `kube-system` and three nodes. Rejects when the port is taken. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { clock = systemClock, network = clock, terminationMs = 100 } = options;
  const store = createStore(options.historyLimit ?? 1000);
  const webhooks = createRules<WebhookRule>();
  const mutate = inTurn(webhooks.all);
  const world: ApiWorld = { store, kinds: createKindRegistry(builtinKinds()), clock, network, mutate };
  const loop = createControllerLoop(store, clock);
  const behaviour = createBehaviour(options, () => loop.touch('/pods'));
  serveCustomResources(world);
  const gateway = createGateway(store, (key) => loop.touch(key));
  const { ageOf } = startControllers({ world, loop, behaviour, gateway, terminationMs });
  const traffic = createTraffic({ store, gateway, clock, behaviour, ageOf });
  createFirstObjects(world, loop);
  const lister = createLister(store);
  const requests = createRequestLog(REQUEST_LOG_LIMIT);
  const watches = new Set<Watch>();
  const faults = createRules<FaultRule>();
  const watchRules = createRules<WatchRule>();
  let mayAccess: AccessRule = () => true;
  let whoSent: TokenRule = (token) => token;
  const server = createApiServer({
    world,
    lister,
    log: requests,
    watches,
    faults: faults.all,
    watchRule: firstOf(watchRules.all),
    mayAccess: (access) => mayAccess(access),
    whoSent: (token) => whoSent(token),
    podLog: (pod, query) => podLog(behaviour, pod, query),
    settle: () => loop.drain(),
    extra: (request) => answerQuery(traffic, clock.nowMs(), request),
  });
  const { url, close } = await listen(server, options);
  return {
    url,
    kubeconfig: kubeconfigFor(url),
    store,
    behaviour,
    requests,
    prometheusUrl: `${url}/prometheus`,
    traffic: traffic.view,
    sampleTraffic: traffic.sample,
    holdRoutes: gateway.hold,
    fault: faults.add,
    perturbWatches: watchRules.add,
    webhook: webhooks.add,
    authorize(rule) {
      mayAccess = rule;
    },
    authenticate(rule) {
      whoSent = rule;
    },
    holdEndpoints: () => loop.hold('endpointslices'),
    expireHistory() {
      store.forgetHistory();
      lister.forgetPages();
    },
    watches: () => watches.size,
    cutWatches(how) {
      for (const watch of [...watches]) how === 'end' ? watch.stop() : watch.reset();
    },
    bookmark() {
      for (const watch of watches) watch.bookmark();
    },
    async close() {
      loop.close();
      for (const watch of [...watches]) watch.stop();
      await close();
    },
  };
}

/** What the first rule wants that wants something. */
function firstOf(all: () => readonly WatchRule[]): WatchRule {
  return (line) => {
    for (const rule of all()) {
      const wanted = rule(line);
      if (wanted !== undefined) return wanted;
    }
    return undefined;
  };
}

/** All webhooks, one after the other. */
function inTurn(all: () => readonly WebhookRule[]): WebhookRule {
  return (key, object) => all().reduce((changed, rule) => rule(key, structuredClone(changed)), object);
}

/** Rules in the order in which they were added; adding one returns how to remove it. */
function createRules<Rule>(): { all: () => readonly Rule[]; add: (rule: Rule) => () => void } {
  let rules: readonly Rule[] = [];
  return {
    all: () => rules,
    add(rule) {
      rules = [...rules, rule];
      return () => {
        rules = rules.filter((each) => each !== rule);
      };
    },
  };
}

function createFirstObjects(world: ApiWorld, loop: ControllerLoop): void {
  const create = (kind: string, name: string, labels: Record<string, string> = {}): void => {
    const info = world.kinds.byType('v1', kind);
    const object = { apiVersion: 'v1', kind, metadata: { name, labels } };
    if (info) createObject(world, info, object, { manager: 'kube-apiserver' });
  };
  for (const name of ['default', 'kube-system']) create('Namespace', name);
  for (const name of sandboxNodes) create('Node', name, { 'kubernetes.io/hostname': name });
  loop.drain();
}

/** A kubeconfig that client libraries accept although the sandbox serves plain HTTP. */
function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'sandbox', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'sandbox', user: {} }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user: 'sandbox', namespace: 'default' } }],
    'current-context': 'sandbox',
  });
}
