import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { checkCanary } from '../../api/canary/validate.ts';
import { parseCanary } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { routerFor, supportedProviders } from '../../providers/routing/table.ts';
import { bad, type CheckLine, ok } from '../../terminal/check-report.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { scalerKindOf } from '../../workload/scaler.ts';

/** Canaries of the cluster that are valid, and a line for each that cannot. */
interface CheckedCanaries {
  readonly valid: readonly Canary[];
  readonly lines: readonly CheckLine[];
}

/** How the controller judges Canaries. */
export interface CanaryRules {
  readonly defaultProvider: string;
  /** References to objects of other namespaces are refused. */
  readonly forbidsOtherNamespaces: boolean;
}

/** Reads every Canary as the controller does. */
export function checkCanaries(objects: readonly KubernetesObject[], options: CanaryRules): CheckedCanaries {
  const valid: Canary[] = [];
  const lines: CheckLine[] = [];
  for (const object of objects) {
    const problem = problemOf(object, options);
    if (typeof problem === 'string')
      lines.push(bad('failed', describe(object), problem, { actor: 'author', act: 'fix it in Git' }));
    else valid.push(problem);
  }
  if (valid.length > 0) lines.unshift(ok('Canaries', `${valid.length} of ${objects.length} are valid`));
  return { valid, lines };
}

function problemOf(
  object: KubernetesObject,
  { defaultProvider, forbidsOtherNamespaces }: CanaryRules,
): Canary | string {
  const parsed = parseCanary(object);
  const options = { defaultProvider, forbidsOtherNamespaces };
  const { problems } = parsed.ok ? checkCanary(parsed.value, options) : parsed;
  const [first] = problems;
  if (first)
    return `${first.path}: ${first.message}${problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''}`;
  return parsed.ok ? parsed.value : 'cannot be parsed';
}

const pluralByKind: Readonly<Record<string, string>> = {
  DaemonSet: 'daemonsets',
  StatefulSet: 'statefulsets',
  ControllerRevision: 'controllerrevisions',
  HorizontalPodAutoscaler: 'horizontalpodautoscalers',
  ScaledObject: 'scaledobjects',
};

/** What rights on some objects depend on. */
export interface UsedParts {
  /** Routing providers of these Canaries, and of the next one that names none, as the table of providers has them. */
  readonly usedProviders: readonly string[];
  /** Resources, as `daemonsets`, that only some Canaries need, and these do. */
  readonly usedResources: ReadonlySet<string>;
}

/** What these Canaries use. */
export function usedBy(canaries: readonly Canary[], defaultProvider: string): UsedParts {
  const kinds = canaries.flatMap(({ spec }) =>
    [...watchedKinds(spec.targetRef), scalerKindOf(spec) ?? []].flat(),
  );
  const providers = [defaultProvider, ...canaries.flatMap(({ spec }) => spec.provider ?? [])];
  return {
    usedProviders: providers.map((provider) => routerFor(provider)?.name ?? provider),
    usedResources: new Set(kinds.flatMap(({ kind }) => pluralByKind[kind] ?? [])),
  };
}

/** Whether the cluster serves what the providers in use write. */
export async function checkProviders(
  client: Pick<ClusterClient, 'resolve'>,
  canaries: readonly Canary[],
  defaultProvider: string,
): Promise<CheckLine[]> {
  const providers = new Set(canaries.map(({ spec }) => spec.provider ?? defaultProvider));
  const lines = [...providers].sort().map(async (provider) => {
    const subject = `provider ${provider}`;
    if (sharesWorkload(provider)) return ok(subject, 'needs only the workload itself');
    const router = routerFor(provider);
    if (!router) {
      const detail = `is not supported by this version; supported: ${supportedProviders().join(', ')}`;
      return bad('failed', subject, detail, { actor: 'author' });
    }
    for (const { apiVersion, kind } of router.kinds) {
      try {
        await client.resolve(apiVersion, kind);
      } catch (error) {
        if (!isApiError(error, 'unknownKind')) throw error;
        const detail = `the cluster does not serve ${kind} of ${apiVersion}`;
        const act = 'install the CRDs of that provider, or change spec.provider of the Canaries';
        return bad('failed', subject, detail, { actor: 'administrator', act });
      }
    }
    const served = router.kinds.map(({ kind, apiVersion }) => `${kind} of ${apiVersion} is served`);
    return ok(subject, served.join(', ') || 'needs only Services');
  });
  return Promise.all(lines);
}
