/** The plan of one Source, both sides of which are rendered. */
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { canonicalJson, type KubernetesObject, nameOfKey, objectKey } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { folderOf } from '../../engine/sync/context/context.ts';
import { windowAt } from '../../engine/windows.ts';
import type { RenderedObject } from '../../render/rendered-object.ts';
import { canaryKeys, type Promoted, planCanary } from './canary-plan.ts';
import { objectChanges } from './object-changes.ts';
import { lostConfigKeys, oneWayChanges } from './one-way.ts';
import { type Removal, removalsOf } from './removals.ts';
import type { CanaryPlanned, OneWayChange, SourcePlanned } from './report.ts';
import type { PlanProbes, PlanRequest, RenderedPair, RenderedSource } from './request.ts';

/** What planning one Source takes. */
interface SourceContext {
  readonly request: PlanRequest;
  readonly probes: PlanProbes;
  readonly nowMs: number;
  /** MetricTemplates of head. */
  readonly templates: readonly KubernetesObject[];
  /** Another Source than `but` that holds an object of this `objectKey` at head. */
  readonly holders: (key: string, but: string) => string | undefined;
}

/** What is promoted of the Canaries of a Source, as far as it was looked up. */
export interface KnownReleases {
  readonly promoted: ReadonlyMap<string, Promoted>;
  readonly sides: ReadonlyMap<string, RenderedSource>;
  readonly notes: readonly string[];
}

/** Everything the commit means for one Source. */
export async function planSource(
  pair: RenderedPair,
  known: KnownReleases,
  context: SourceContext,
): Promise<SourcePlanned> {
  const { key, afterSide } = pair;
  const source = pair.after ?? pair.before;
  if (!source) throw new Error(`Source ${key} is on neither side`);
  // What head could not read of a broken file stays as it is: it is neither changed nor removed.
  const { brokenFiles } = afterSide;
  const read = new Set(afterSide.entries.map(({ object }) => objectKey(object)));
  const isRead = ({ object, origin }: RenderedObject) =>
    read.has(objectKey(object)) || !(brokenFiles.has('') || brokenFiles.has(origin.file));
  const before = { ...pair.beforeSide, entries: pair.beforeSide.entries.filter(isRead) };
  const removals = removalsOf({
    source: pair.after,
    before: before.entries,
    after: afterSide.entries,
    isBroken: afterSide.problems.length > 0,
    holderOf: (object) => context.holders(object, key),
  });
  const canaries = await canariesOf({ ...pair, beforeSide: before }, source, { ...known, removals }, context);
  const objects = objectChanges(before, afterSide, removals);
  const changed = new Set(objects.map(objectKey));
  const dryRun =
    pair.after && (await context.probes.dryRun?.({ source: pair.after, side: afterSide, changed }));
  // What is taken, and perhaps not as meant.
  const doubts = [...afterSide.canaries.values()].flatMap((canary) => canary.doubts ?? []);
  const changes = oneWayChanges({
    source,
    before: before.entries,
    after: afterSide.entries,
    rest: afterSide.rest,
    removals,
  });
  return {
    source: key,
    path: folderOf(source) || '.',
    change: sourceChange(pair),
    problems: afterSide.problems,
    objects,
    canaries,
    oneWay: [...changes, ...lostOf(before, afterSide, known)],
    ...(dryRun ? { dryRun: dryRun.findings } : {}),
    notes: [...notesOf(pair, source), ...doubts, ...known.notes, ...(dryRun?.notes ?? [])],
  };
}

async function canariesOf(
  { beforeSide, afterSide }: RenderedPair,
  source: Source,
  { promoted, removals }: Pick<KnownReleases, 'promoted'> & { removals: ReadonlyMap<string, Removal> },
  { request, probes, nowMs, templates }: SourceContext,
): Promise<CanaryPlanned[]> {
  const { minIntervalMs, defaultProvider } = request;
  const options = { minIntervalMs, defaultProvider, window: windowAt(source.spec.windows, nowMs) };
  const planned: CanaryPlanned[] = [];
  if (afterSide.brokenFiles.has('')) return planned;
  for (const key of canaryKeys(afterSide.plans, beforeSide.plans)) {
    const [before, after] = [beforeSide.canaries.get(key), afterSide.canaries.get(key)];
    const named = { apiVersion: apiVersionOf('Canary'), kind: 'Canary', ...nameOfKey(key) };
    const removal = after ? undefined : removals.get(objectKey(named));
    const one = planCanary({ key, before, after, promoted: promoted.get(key), removal, options });
    if (!one) continue;
    const canary = after?.plan.state === 'release' ? after.plan.object : undefined;
    const isAsked = canary && one.flight && one.flight.metrics.length > 0;
    const measured =
      isAsked && one.flight ? await probes.measure?.({ canary, flight: one.flight, templates }) : undefined;
    planned.push(measured ? { ...one, measured } : one);
  }
  return planned;
}

/** What a revert goes back to reads its config as it was then. */
function lostOf(
  before: RenderedSource,
  after: RenderedSource,
  { promoted, sides }: KnownReleases,
): OneWayChange[] {
  const found = [...before.canaries].flatMap(([key, side]) => {
    const good = promoted.get(key)?.release ?? side.release;
    const held = sides.get(key)?.entries ?? before.entries;
    return good && after.canaries.has(key) ? lostConfigKeys(good, held, after.entries) : [];
  });
  return [...new Map(found.map((change) => [`${change.object} ${change.message}`, change])).values()];
}

function sourceChange({ before, after }: RenderedPair): SourcePlanned['change'] {
  if (!before) return 'added';
  if (!after) return 'removed';
  return canonicalJson(before.spec) === canonicalJson(after.spec) ? 'same' : 'changed';
}

function notesOf({ beforeSide, afterSide, before }: RenderedPair, source: Source): string[] {
  const { decryption, substitute, suspend } = source.spec;
  const names = (substitute?.from ?? []).map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return [
    ...(before && !afterSide.isAbsent && beforeSide.problems.length > 0
      ? [
          `base cannot be read completely (${beforeSide.problems[0]}): objects that could not be read count as new`,
        ]
      : []),
    ...(names ? [`variables of ${names} come from the cluster: they are shown unexpanded`] : []),
    ...(decryption ? ['files encrypted with SOPS are compared in their encrypted form'] : []),
    ...(suspend ? ['the Source is suspended: none of this is applied'] : []),
  ];
}
