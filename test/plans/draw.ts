import type { PersonsDeed, PlannedFault, Point, Refusal, RivalsDeed } from './faults.ts';
import { seeded } from './random.ts';
import type { Plan, Reference } from './run.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

type Draw = {
  pick<T>(from: readonly T[]): T;
  /** From 1 to this number. */
  upTo(most: number): number;
};

/** The plan of a seed: one of the scenarios, and one to three faults at points that it comes by. */
export async function drawPlan(
  referenceOf: (scenario: Scenario) => Promise<Reference>,
  seed: number,
  among: readonly Scenario[] = scenarios,
): Promise<Plan> {
  const random = seeded(seed);
  const draw: Draw = {
    pick: (from) => from[Math.floor(random() * from.length)] as (typeof from)[number],
    upTo: (most) => 1 + Math.floor(random() * most),
  };
  const reference = await referenceOf(draw.pick(among));
  const count = draw.pick([1, 1, 2, 2, 3]);
  const { asksHooks, writesGit, leavesSome } = reference.scenario;
  const all = [
    ...kinds,
    ...(leavesSome ? [] : rivalKinds),
    ...(asksHooks ? hookKinds : []),
    ...(writesGit ? pushKinds : []),
  ];
  const faults = Array.from({ length: count }, () => draw.pick(all)(draw, reference));
  const standby = faults.some(({ kind }) => kind === 'partition') || draw.upTo(4) === 1;
  return { scenario: reference.scenario.name, seed, standby, faults };
}

const refusals: readonly Refusal[] = [403, 409, 429, 500, 503, 'drop', 'cut', 'hang'];
const storms: readonly Refusal[] = [409, 429, 500, 503, 'drop', 'cut'];

/** What one webhook or quota may be about; a Canary whose status cannot be written while it is initialized is found as one that was. */
const resources = [
  ...['deployments', 'services', 'secrets', 'configmaps', 'sources', 'httproutes'],
  ...['horizontalpodautoscalers', 'httpproxies', 'virtualservices', 'statefulsets'],
];

type DrawFault = (draw: Draw, reference: Reference) => PlannedFault;

/** One row for each kind of fault, the commoner ones twice. */
const kinds: readonly DrawFault[] = [
  ...twice<DrawFault>((draw, reference) => ({
    at: at(draw, reference, 'write'),
    kind: 'refuse',
    how: draw.pick(refusals),
    times: draw.pick([1, 1, 2, 5]),
  })),
  (draw, reference) => ({
    at: at(draw, reference, 'read'),
    kind: 'refuse',
    how: draw.pick([429, 500, 503, 'drop', 'hang']),
    times: draw.pick([1, 3, 6]),
  }),
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'storm',
    how: draw.pick(storms),
    seconds: draw.pick([2, 10, 40]),
  }),
  ...twice<DrawFault>((draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'storm',
    how: draw.pick([403, 409, 500, 'cut']),
    seconds: draw.pick([20, 60, 120]),
    writesOf: draw.pick(resources),
  })),
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'slow',
    byMs: draw.pick([500, 3_000]),
    seconds: draw.pick([10, 40]),
  }),
  (draw, reference) => ({ at: anywhere(draw, reference), kind: 'restart', seconds: draw.pick([1, 5, 30]) }),
  ...twice<DrawFault>((draw, reference) => ({
    at: at(draw, reference, 'line'),
    kind: 'watch',
    how: draw.pick(['hide', 'repeat', 'back']),
    times: draw.pick([1, 1, 3, 10]),
  })),
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'stale',
    seconds: draw.pick([5, 20, 50]),
    ...draw.pick([{}, { of: 'apps/deployments' }, { of: 'flagger.app/canaries' }, { of: '/pods' }]),
  }),
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'git',
    how: draw.pick(['drop', 'cut', 'slow', 500, 503, 403]),
    seconds: draw.pick([10, 60]),
  }),
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'metrics',
    how: draw.pick(['drop', 503, 400]),
    seconds: draw.pick([10, 60]),
  }),
  ...twice<DrawFault>((draw, reference) => ({
    at: at(draw, reference, 'write'),
    kind: 'kill',
    carriedOut: draw.pick([true, false]),
    seconds: draw.pick([1, 1, 25]),
    sameData: draw.pick([true, false]),
    wallOffsetHours: reference.scenario.needsClock ? 0 : draw.pick([0, 0, 1, -1, 24, -24]),
  })),
  (draw, reference) => ({ at: anywhere(draw, reference), kind: 'stop', seconds: draw.pick([5, 20, 40, 60]) }),
  (draw, reference) => ({ at: anywhere(draw, reference), kind: 'partition', seconds: draw.pick([25, 60]) }),
  (draw, reference) => ({ at: anywhere(draw, reference), kind: 'person', ...draw.pick(deedsIn(reference)) }),
];

/** The same for scenarios that leave nothing behind, of which nobody takes care any more. */
const rivalKinds: readonly DrawFault[] = [
  (draw, reference) => ({
    at: anywhere(draw, reference),
    kind: 'rival',
    ...draw.pick(rivalsIn(reference)),
    afterMs: draw.pick([50, 300, 2_000]),
    // A release that meets it for longer may fail, as it should.
    seconds: draw.pick([2, 10]),
  }),
];

/** The same for scenarios with webhooks. */
const hookKinds: readonly DrawFault[] = twice<DrawFault>((draw, reference) => ({
  at: anywhere(draw, reference),
  kind: 'hooks',
  how: draw.pick(['drop', 'cut', 'slow', 500, 403]),
  seconds: draw.pick([10, 60]),
}));

/** The same for those in which Holdfast writes to Git. */
const pushKinds: readonly DrawFault[] = twice<DrawFault>((draw, { scenario, ...reference }) => ({
  at: anywhere(draw, { scenario, ...reference }),
  kind: 'push',
  how: draw.pick([
    'drop',
    'cut',
    'slow',
    500,
    503,
    ...(scenario.writesGit === 'branch' ? twice('race' as const) : []),
  ]),
  times: draw.pick([1, 1, 2]),
}));

const deployments = '/apis/apps/v1/namespaces/shop/deployments';
const services = '/api/v1/namespaces/shop/services';

/** What Holdfast makes again. Another image at rest is reported alone, and nothing says how many pods a primary has whose target others apply. */
function deedsIn({ scenario, end }: Reference): ReadonlyArray<{ does: PersonsDeed; path: string }> {
  const deeds = scenario.hasForeignTarget ? [] : (['delete', 'scale to 0', 'scale to 1'] as const);
  const ofPrimary = deeds.map((does) => ({ does, path: `${deployments}/web-primary` }));
  const deletions = (paths: readonly string[]) => paths.map((path) => ({ does: 'delete' as const, path }));
  const isThere = (object: string) => [...end.keys()].some((place) => place.startsWith(`${object}.`));
  const some = deletions([
    route,
    ...otherObjects.flatMap(([object, path]) => (isThere(object) ? [path] : [])),
  ]);
  const evictions = ['web', 'web-primary'].map((name) => ({
    does: 'evict a pod' as const,
    path: `${deployments}/${name}`,
  }));
  const all = scenario.leavesSome ? some : [...ofPrimary, ...deletions(madeServices), ...some];
  return [...all, ...evictions];
}

/** A Service that is released is a workload of its own, and what has made a person decide about a release waits for the person. */
function rivalsIn({ scenario, end }: Reference): ReadonlyArray<{ does: RivalsDeed; path: string }> {
  const isReleased = end.has('/services web-primary.annotations.holdfast.dev/digest');
  const paths = isReleased || scenario.name.includes('held') ? [] : madeServices;
  const scaled = { does: 'scale to 1' as const, path: `${deployments}/web-primary` };
  return [
    ...paths.map((path) => ({ does: 'select other pods' as const, path })),
    ...(scenario.hasForeignTarget ? [] : [scaled]),
    { does: 'route to the primary', path: route },
  ];
}

const madeServices = ['web', 'web-primary', 'web-canary'].map((name) => `${services}/${name}`);
const route = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web';

/** As they are called in an end, with their paths. */
const otherObjects = [
  ['projectcontour.io/httpproxies web', '/apis/projectcontour.io/v1/namespaces/shop/httpproxies/web'],
  [
    'networking.istio.io/virtualservices web',
    '/apis/networking.istio.io/v1beta1/namespaces/shop/virtualservices/web',
  ],
  [
    'autoscaling/horizontalpodautoscalers web-primary',
    '/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web-primary',
  ],
  ['/configmaps settings-primary', '/api/v1/namespaces/shop/configmaps/settings-primary'],
] as const;

function twice<T>(one: T): T[] {
  return [one, one];
}

function at(draw: Draw, { tally, seconds }: Reference, on: Point['on']): Point {
  return { on, n: draw.upTo(on === 'second' ? seconds : tally[on]) };
}

function anywhere(draw: Draw, reference: Reference): Point {
  return at(draw, reference, draw.pick(['write', 'line', 'second']));
}

/** Each event of a watch is hidden in one of so many runs. */
const hidingRuns = 8;

/** Plans of a scenario that together hide each event of its watches once. */
export function hidingPlans({ scenario }: Reference): Plan[] {
  if (scenario.needsEvents) return [];
  return Array.from({ length: hidingRuns }, (_, index) => {
    const at = { on: 'line', n: index + 1 } as const;
    const faults: readonly PlannedFault[] = [{ at, kind: 'watch', how: 'hide', times: 0, every: hidingRuns }];
    return { scenario: scenario.name, seed: index + 1, standby: false, faults };
  });
}
