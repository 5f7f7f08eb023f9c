import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { canaryStatus, shortCommit } from '../../api/canary/summary.ts';
import { factsOf, runbookOf } from '../../api/incident.ts';
import { commandOn, conditionOf, isRecord, type KubernetesObject, nameOf } from '../../api/kubernetes.ts';
import { limits, shorten } from '../../api/limits.ts';
import { actOn } from '../../api/reasons.ts';
import type { CanaryView, FieldChange, PodRow, Section, Timeline } from '../../dashboard/views.ts';
import { isMadeFor, isReady, type Pod } from '../../workload/pods/pods.ts';
import { matchLabelsOf } from '../../workload/shared/metadata.ts';
import { canaryRow, firstOf, stepsOf } from './rows.ts';

/** What is shown of a Canary besides its own object. */
interface CanaryParts {
  readonly sourceOf: (applySet: string) => string | undefined;
  readonly timeline: Timeline;
  readonly requests: CanaryView['requests'];
  readonly pods: CanaryView['pods'];
  readonly changes: CanaryView['changes'];
  /** Root of the pages that runbooks are linked to. */
  readonly documentation: string | undefined;
}

/** Everything about one Canary; of its spec only what has no secrets (addresses of webhooks may have). */
export function canaryView(canary: KubernetesObject, parts: CanaryParts): CanaryView {
  const { sourceOf, timeline, requests, pods, changes, documentation } = parts;
  const full = canaryStatus(canary);
  const { serving, checks, history, rejected, lastKnownGood, lastAppliedCommit, answers, failedChecks } =
    full;
  const { spec } = canary as Canary;
  const state = full.postPromotion;
  const ready = conditionOf(full, 'Ready')?.reason ?? '';
  const act = actOn(ready, state?.state === 'Held');
  return {
    row: canaryRow(canary, sourceOf),
    target: spec.targetRef.name && `${spec.targetRef.kind ?? 'Deployment'} ${spec.targetRef.name}`,
    provider: full.provider ?? spec.provider ?? '',
    steps: stepsOf(canary as Canary),
    status: { serving, checks, history, rejected, lastKnownGood, lastAppliedCommit, answers, failedChecks },
    subjects: subjectsIn(canary),
    postPromotion: state && { state: state.state, reason: state.reason, cause: state.cause },
    runStartTime: full.run?.startTime,
    conditions: full.conditions ?? [],
    incidents: (canaryStatus(canary).incidents ?? []).map((incident) => {
      const { time, outcome, severity, reason, message } = incident;
      return { time, outcome, severity, reason, message, facts: factsOf(incident, documentation) };
    }),
    advice: act === undefined ? '' : `${act} (${runbookOf(ready)})`,
    requests,
    timeline,
    pods,
    changes,
  };
}

function subjectsIn(canary: KubernetesObject): Record<string, string> {
  const { serving = [], history = [], incidents = [] } = canaryStatus(canary);
  const named = [...history, ...incidents, ...serving];
  return Object.fromEntries(
    named.flatMap(({ commit, subject }) => (commit && subject ? [[commit, subject]] : [])),
  );
}

/** Both sides of a Canary as they are in the cluster. */
export interface Sides {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
}

/** By target, with the primary that it was compared with: a template may be large, and each page looks twice a second while anything in the cluster changes. */
const compared = new WeakMap<
  KubernetesObject,
  { readonly primary: KubernetesObject; readonly changes: Section<readonly FieldChange[]> }
>();

/** The differences between the running release and the serving one. */
export function changesOf(
  canary: KubernetesObject,
  { target, primary }: Sides,
): Section<readonly FieldChange[]> {
  const { run, provider } = canaryStatus(canary);
  if (!run?.digest) return { missing: 'No release is under way.' };
  if (sharesWorkload(provider) || !target || !primary)
    return { missing: `Run: ${commandOn('diff', nameOf(canary))}` };
  const known = compared.get(target);
  if (known?.primary === primary) return known.changes;
  // What is generated for the primary is called after the target: that is no change.
  const ownName = (text: string) => text.replace(/-primary$/, '');
  const all = fieldChanges(templateOf(primary), templateOf(target), ownName);
  const changes = firstOf(all, limits.dashboardFieldChanges);
  compared.set(target, { primary, changes });
  return changes;
}

/** Without what Holdfast, kubectl and controllers write into templates themselves. */
function templateOf(workload: KubernetesObject): unknown {
  const { template } = (workload.spec ?? {}) as {
    template?: { metadata?: Record<string, unknown>; spec?: unknown };
  };
  const { labels, annotations } = (template?.metadata ?? {}) as Record<
    string,
    Record<string, string> | undefined
  >;
  const kept = Object.entries(annotations ?? {}).filter(
    ([key]) => !/(^|\.)(holdfast\.dev|flagger\.app|kubernetes\.io)\//.test(key),
  );
  return {
    labels,
    annotations: Object.fromEntries(kept),
    ...(isRecord(template?.spec) ? template.spec : {}),
  };
}

/** The pods of both sides, unready ones first. */
export function podsOf(pods: readonly KubernetesObject[], { target, primary }: Sides): PodRow[] {
  const sides = [primary, target].flatMap((workload) => {
    const labels = Object.entries(workload ? matchLabelsOf(workload) : {});
    return workload && labels.length > 0 ? [{ workload, labels }] : [];
  });
  const rows = pods.flatMap((pod) => {
    const side = sides.find(
      ({ workload, labels }) =>
        labels.every(([key, value]) => pod.metadata.labels?.[key] === value) && isMadeFor(workload, pod),
    );
    return side ? [podRow(pod, side.workload.metadata.name)] : [];
  });
  return rows.sort((a, b) => Number(a.isReady) - Number(b.isReady) || (a.name < b.name ? -1 : 1));
}

function podRow(pod: Pod, workload: string): PodRow {
  const { phase = '', conditions = [], containerStatuses = [] } = pod.status ?? {};
  const { containers = [] } = pod.spec ?? {};
  const isUp = isReady(pod);
  const waiting = containerStatuses.find(({ state }) => state?.waiting)?.state?.waiting;
  const unmet = conditions.find(({ status, reason }) => status === 'False' && reason);
  const problem = waiting ?? unmet;
  return {
    name: pod.metadata.name,
    workload,
    isReady: isUp,
    phase: pod.metadata.deletionTimestamp ? 'Terminating' : phase,
    restarts: containerStatuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    image: containers.map(({ image = '' }) => image).join(', '),
    problem: isUp ? '' : [problem?.reason, problem?.message].filter(Boolean).join(': '),
    createdTime: pod.metadata.creationTimestamp,
  };
}

/** `commit "subject"` of a release for people; its digest where it has no commit. */
export function releaseName(canary: KubernetesObject, digest: string, commit: string | undefined): string {
  const subject = commit && subjectsIn(canary)[commit];
  if (!commit) return digest.slice(0, 15);
  return subject ? `${shortCommit(commit)} “${subject}”` : shortCommit(commit);
}

/**
 * The fields in which two pod templates differ, by path; entries of lists are identified by their names, if they have any. `ownName` maps
 * names of the left side to those of the right side where they differ without a change.
 */
export function fieldChanges(
  before: unknown,
  after: unknown,
  ownName: (text: string) => string = (text) => text,
): FieldChange[] {
  const left = flat(before, ownName);
  const right = flat(after, (text) => text);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((path) => left.get(path) !== right.get(path))
    .sort()
    .map((path) => ({ path, before: shown(left.get(path)), after: shown(right.get(path)) }));
}

function shown(text: string | undefined): string | undefined {
  return text === undefined ? undefined : shorten(text, limits.conditionMessageCharacters);
}

/** Values by path, as texts. */
function flat(
  value: unknown,
  ownName: (text: string) => string,
  path = '',
  found = new Map<string, string>(),
): Map<string, string> {
  if (value === undefined || value === null) return found;
  const parts = partsOf(value, path);
  if (!parts) return found.set(path, typeof value === 'string' ? ownName(value) : JSON.stringify(value));
  for (const [key, part] of parts) flat(part, ownName, key, found);
  return found;
}

function partsOf(value: unknown, path: string): Array<[path: string, part: unknown]> | undefined {
  if (Array.isArray(value))
    return value.map((entry, index) => {
      const key = isRecord(entry) && typeof entry.name === 'string' ? entry.name : index;
      return [`${path}[${key}]`, entry];
    });
  if (!isRecord(value)) return undefined;
  return Object.entries(value).map(([key, entry]) => [path ? `${path}.${key}` : key, entry]);
}
