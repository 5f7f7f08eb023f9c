/** Puts a plan together: reads and renders the two sides, asks the cluster where flags say so, and leaves every decision to the pure parts. */
import { systemClock } from '../../api/clock.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { namespacedName, objectKey } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import { folderOf } from '../../engine/sync/context/context.ts';
import { treeAt } from '../../engine/sync/read/commit-files.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import { workingTree } from '../local-files.ts';
import { sourceForPath } from '../offline.ts';
import { canaryKeys } from './canary-plan.ts';
import { promotedOf } from './promoted-releases.ts';
import { emptySide, renderSide, type SideAt, type SideParts } from './rendered-source.ts';
import { type PlanReport, type PlanSide, type SourcePlanned, summaryOf } from './report.ts';
import type { PlanProbes, PlanRequest, RenderedPair } from './request.ts';
import { type KnownReleases, planSource } from './source-plan.ts';
import { brokenSources, chooseSources, pairSources, type SourcePair, sourcesIn } from './sources.ts';

/** Compares base and head of the request. Throws InputError and GitError where the two cannot be compared. */
export async function makePlan(
  request: PlanRequest,
  parts: SideParts,
  probes: PlanProbes,
): Promise<PlanReport> {
  const { repository } = request;
  const base = await sideAt(repository, request.base);
  const head = await sideAt(repository, request.head);
  const { pairs, notes, problems } = await pairsOf(request, { base, head, signal: parts.signal });
  const rendered: RenderedPair[] = [];
  for (const pair of pairs) {
    const beforeSide = pair.before ? await renderSide(parts, pair.before, base) : emptySide;
    const side = pair.after ? await renderSide(parts, pair.after, head, beforeSide) : emptySide;
    const afterSide = pair.problem ? { ...side, problems: [pair.problem, ...side.problems] } : side;
    rendered.push({ ...pair, beforeSide, afterSide });
  }
  const holders = holdersOf(rendered);
  const templates = rendered
    .flatMap(({ afterSide }) => afterSide.entries.map(({ object }) => object))
    .filter(
      ({ kind, apiVersion }) => kind === 'MetricTemplate' && apiVersion === apiVersionOf('MetricTemplate'),
    );
  const context = { request, probes, templates, nowMs: systemClock.nowMs(), holders };
  const sources: SourcePlanned[] = [];
  for (const pair of rendered) {
    const known = await readPromoted(pair, base, { repository, parts, probes });
    sources.push(await planSource(pair, known, context));
  }
  const summary = summaryOf(sources);
  return {
    base: shown(request.base, base),
    head: shown(request.head, head),
    summary: { ...summary, problems: summary.problems + problems },
    sources,
    notes: [...notes, ...(probes.notes ?? [])],
  };
}

/** What is promoted of the Canaries of either side, with the releases that a revert would go back to. */
async function readPromoted(
  { beforeSide, afterSide, before, after }: RenderedPair,
  base: SideAt,
  { repository, parts, probes }: { repository: LocalRepository; parts: SideParts; probes: PlanProbes },
): Promise<KnownReleases> {
  const keys = canaryKeys(afterSide.plans, beforeSide.plans);
  const source = after ?? before;
  if (!source || !probes.look || keys.length === 0)
    return { promoted: new Map(), sides: new Map(), notes: [] };
  const { states, notes } = await probes.look({ keys, source, baseCommit: base.commit.commit });
  const own = new Map([...states].filter(([key]) => keys.includes(key)));
  return { ...(await promotedOf(parts, { source, repository }, own)), notes };
}

async function sideAt(repository: LocalRepository, revision: string | undefined): Promise<SideAt> {
  if (revision !== undefined)
    return { reader: repository, commit: (await repository.commitAt(revision)).info };
  if (repository.root === undefined)
    throw new InputError('a bare repository has no working tree; name the commit of the change with --head');
  const commit = { commit: '', subject: 'the working tree', author: '', time: '' };
  return { reader: workingTree(repository.root), commit };
}

function shown(revision: string | undefined, { commit }: SideAt): PlanSide {
  if (revision === undefined) return { revision: '' };
  return { revision, commit: { commit: commit.commit, subject: commit.subject } };
}

interface Pairs {
  readonly pairs: readonly SourcePair[];
  readonly notes: readonly string[];
  /** Sources that come and cannot be used; the notes name them. */
  readonly problems: number;
}

/** Sources of files and folders that were named, else those in the repository, else the repository as a whole. */
async function pairsOf(
  { repository, sources, paths, namespace, branch }: PlanRequest,
  { base, head, signal }: { base: SideAt; head: SideAt; signal: AbortSignal },
): Promise<Pairs> {
  if (sources.length > 0 || paths.length > 0) {
    for (const path of paths) await demandFolder(path, { sides: [base, head], signal });
    const folders = paths.map((path) => sourceAt(path, namespace));
    const named = folders.map((source) => ({ key: folderOf(source) || '.', before: source, after: source }));
    return { pairs: [...pairSources(sources, sources), ...named], notes: [], problems: 0 };
  }
  const before = await sourcesIn(base.reader, base.commit.commit, signal);
  const after = await sourcesIn(head.reader, head.commit.commit, signal);
  const broken = brokenSources(before, after);
  const why = new Map(broken.map(({ source, problem }) => [namespacedName(source), problem]));
  const unusable = [...after.invalid].filter(([key]) => !why.has(key));
  const notes = unusable.map(([, problem]) => `a Source cannot be used: ${problem}`);
  // One that cannot be used at base either is nothing that this change does.
  const problems = unusable.filter(([key]) => !before.invalid.has(key)).length;
  if (before.sources.length + after.sources.length === 0) {
    const whole = sourceAt('', namespace);
    const note =
      'no Source found in the repository, so the repository is read as one; name Sources with --source or --path';
    return { pairs: [{ key: '.', before: whole, after: whole }], notes: [...notes, note], problems };
  }
  const choice = { remotes: await repository.remotes(), branch };
  const atHead = [...after.sources, ...broken.map(({ source }) => source)];
  const pairs = pairSources(chooseSources(before.sources, choice), chooseSources(atHead, choice));
  if (pairs.length > 0)
    return { pairs: pairs.map((pair) => ({ ...pair, problem: why.get(pair.key) })), notes, problems };
  throw new InputError(`no Source in the repository follows branch ${branch}`);
}

/** Throws InputError for a path without a folder at any of the commits, as of a typing error or an empty variable. */
async function demandFolder(
  path: string,
  { sides, signal }: { sides: readonly SideAt[]; signal: AbortSignal },
): Promise<void> {
  const folder = folderOf(sourceForPath(path));
  for (const { reader, commit } of path === '' ? [] : sides)
    if ((await treeAt(reader, commit.commit, signal).read([folder])).get(folder)?.kind === 'folder') return;
  throw new InputError(`--path: ${JSON.stringify(path)} is a folder neither at base nor at head`);
}

/** Stands for the Source of a folder. */
function sourceAt(path: string, defaultNamespace: string): Source {
  const source = sourceForPath(path);
  return { ...source, spec: { ...source.spec, defaultNamespace } };
}

/** Which Source of head holds an object, so that one that moves to another is not taken for one that goes. */
function holdersOf(rendered: readonly RenderedPair[]): (key: string, but: string) => string | undefined {
  const holders = new Map<string, string[]>();
  for (const { key, afterSide } of rendered)
    for (const { object } of afterSide.entries)
      holders.set(objectKey(object), [...(holders.get(objectKey(object)) ?? []), key]);
  return (key, but) => holders.get(key)?.find((holder) => holder !== but);
}
