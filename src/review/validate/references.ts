import type { KubernetesObject } from '../../api/kubernetes.ts';
import { objectKey, type RenderResult } from '../../render/render.ts';
import { scopeOf } from '../offline.ts';
import { kindOf } from './kinds.ts';
import type { Finding } from './releases.ts';

/** Objects that name no namespace: a Source refuses them unless it has a default one. */
export function namespaceFindings({ objects }: RenderResult, complete: boolean): Finding[] {
  return objects
    .filter(({ object }) => !object.metadata.namespace)
    .filter(({ object }) => scopeOf(object.kind) === 'namespaced' || kindOf(object) !== undefined)
    .map(({ object, origin }) => ({
      file: origin.file,
      line: origin.line,
      field: 'metadata.namespace',
      message: `${object.kind} ${object.metadata.name} has no namespace; set it, or set spec.defaultNamespace of the Source`,
      severity: complete ? 'problem' : 'warning',
    }));
}

/** MetricTemplates and AlertProviders that Canaries name and that are in none of the files. */
export function referenceFindings({ objects, lineOf }: RenderResult): Finding[] {
  const keys = new Set(objects.map(({ object }) => objectKey(object)));
  return objects.flatMap(({ object, origin }) =>
    kindOf(object) === 'Canary'
      ? referencesOf(object)
          .filter(({ kind, namespace, name }) => !keys.has(`flagger.app|${kind}|${namespace}|${name}`))
          .map(({ field, kind, namespace, name }): Finding => {
            const shown = namespace ? `${namespace}/${name}` : name;
            const message = `${kind} ${shown} is in none of these files; it must come from elsewhere`;
            return { file: origin.file, line: lineOf(origin, field), field, message, severity: 'warning' };
          })
      : [],
  );
}

interface Reference {
  readonly field: string;
  readonly kind: 'MetricTemplate' | 'AlertProvider';
  readonly namespace: string;
  readonly name: string;
}

/** From the object as it came: one that does not parse is named anyway. */
function referencesOf({ metadata, spec }: KubernetesObject): Reference[] {
  const { analysis, postPromotion } = (spec ?? {}) as RawSpec;
  const lists = [
    { at: 'analysis.metrics', entries: analysis?.metrics, by: 'templateRef', kind: 'MetricTemplate' },
    {
      at: 'postPromotion.metrics',
      entries: postPromotion?.metrics,
      by: 'templateRef',
      kind: 'MetricTemplate',
    },
    { at: 'analysis.alerts', entries: analysis?.alerts, by: 'providerRef', kind: 'AlertProvider' },
  ] as const;
  return lists.flatMap(({ at, entries, by, kind }) =>
    (Array.isArray(entries) ? (entries as RawEntry[]) : []).flatMap((entry, index) => {
      const reference = entry?.[by];
      if (!reference?.name) return [];
      const namespace = reference.namespace || metadata.namespace || '';
      return [{ field: `spec.${at}[${index}].${by}`, kind, namespace, name: reference.name }];
    }),
  );
}

interface RawSpec {
  analysis?: { metrics?: unknown; alerts?: unknown };
  postPromotion?: { metrics?: unknown };
}

type RawEntry = { [By in 'templateRef' | 'providerRef']?: { name?: string; namespace?: string } } | null;
