/** Fields of a Canary that are not acted on, and objects that it names and that do not exist: reported by condition and Event; nothing waits. */

import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { unsupportedFields, withoutEffectWith } from '../../../api/canary/unsupported-fields.ts';
import { checkCanary } from '../../../api/canary/validate.ts';
import { type Condition, conditionOf, namespacedName } from '../../../api/kubernetes.ts';
import type { Problem } from '../../../api/problems.ts';
import type { EventNews, ReferenceKind, References } from '../../../contracts/cluster.ts';
import { undeclaredPort } from '../../../release/ports.ts';
import { type ConditionNews, observedAt, withCondition, withoutCondition } from '../../status-patch.ts';
import { providerOf, type ReadParts } from '../context/observation.ts';

/** Types of the conditions; used as reasons, too. */
const notActedOn = 'FieldsNotActedOn';
const specWarnings = 'SpecWarnings';
const types = [notActedOn, specWarnings] as const;

/** An object that the spec of a Canary names. */
interface NamedObject {
  readonly path: string;
  readonly kind: ReferenceKind;
  readonly namespace: string;
  readonly name: string;
}

/** MetricTemplates and AlertProviders that the Canary names. */
function namedObjects({ metadata, spec }: Canary): NamedObject[] {
  const own = metadata.namespace ?? '';
  const lists = { analysis: spec.analysis?.metrics, postPromotion: spec.postPromotion?.metrics };
  const templates = Object.entries(lists).flatMap(([list, metrics = []]) =>
    metrics.flatMap(({ templateRef }, index): NamedObject[] => {
      if (!templateRef) return [];
      const path = `spec.${list}.metrics[${index}].templateRef`;
      return [
        { path, kind: 'MetricTemplate', namespace: templateRef.namespace || own, name: templateRef.name },
      ];
    }),
  );
  const providers = (spec.analysis?.alerts ?? []).map(({ providerRef }, index): NamedObject => {
    const path = `spec.analysis.alerts[${index}].providerRef`;
    return { path, kind: 'AlertProvider', namespace: providerRef.namespace || own, name: providerRef.name };
  });
  return [...templates, ...providers];
}

/** Everything to report about the spec: of the Canary alone, of its routing provider, of objects it names, and of head's template. */
export function specNotices(
  parts: Pick<ReadParts, 'heads' | 'options' | 'routing'> & { readonly references: References },
  canary: Canary,
): ConditionNews[] {
  const { defaultProvider, minIntervalMs: intervalFloorMs } = parts.options;
  const router = parts.routing(providerOf(canary, parts.options));
  const missing = namedObjects(canary)
    .filter(({ kind, namespace, name }) => parts.references.has(kind, namespace, name) === false)
    .map(({ path, kind, namespace, name }) => ({
      path,
      message: `there is no ${kind} ${namespace}/${name}`,
    }));
  const { release, view } = parts.heads.of(namespacedName(canary));
  const port = release && undeclaredPort(canary.spec.service, release);
  const warnings: Problem[] = [
    ...missing,
    ...checkCanary(canary, { defaultProvider, intervalFloorMs }).warnings,
    ...(router?.check(canary) ?? []).filter(({ severity }) => severity === 'warning'),
    ...(port ? [{ path: port.field, message: port.message }] : []),
  ];
  const fields = unsupportedFields(canary, router?.ignores(canary));
  const without = `valid, but without effect with ${withoutEffectWith(canary, defaultProvider)}: ${fields.join(', ')}`;
  const generation = canary.metadata.generation;
  const news = (type: string, reason: string, message: string): ConditionNews => ({
    type,
    status: 'True',
    reason,
    message,
    ...observedAt(canary),
  });
  const text = warnings.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const reported = conditionOf(canary.status, specWarnings);
  // Nothing was read since the start: what was reported of this very spec is not taken back and reported again a moment later.
  const isUnread = view.kind === 'unknown' && view.reason === 'SourceNotRead';
  const unchanged =
    isUnread && reported && reported.observedGeneration === generation ? [reported] : undefined;
  const reason = missing.length > 0 ? 'ReferenceMissing' : specWarnings;
  return [
    ...(fields.length > 0 ? [news(notActedOn, notActedOn, without)] : []),
    ...(unchanged ?? (warnings.length > 0 ? [news(specWarnings, reason, text)] : [])),
  ];
}

/** The conditions with these notices, and without those that do not hold any more. */
export function withNotices(
  before: readonly Condition[],
  notices: readonly ConditionNews[],
  nowMs: number,
): readonly Condition[] {
  let conditions = before;
  for (const type of types) {
    const notice = notices.find((one) => one.type === type);
    conditions = notice ? withCondition(conditions, notice, nowMs) : withoutCondition(conditions, type);
  }
  return conditions;
}

/** Notices that say something new, as events. */
export function newNotices(before: CanaryStatus | undefined, after: CanaryStatus): EventNews[] {
  return types.flatMap((type): EventNews[] => {
    const now = conditionOf(after, type);
    if (!now || now.message === conditionOf(before, type)?.message) return [];
    return [{ type: 'Warning', reason: now.reason, message: now.message ?? '' }];
  });
}
