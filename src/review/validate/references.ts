import { type KubernetesObject, namespacedName, recordOf, textOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { RenderResult } from '../../render/rendered-object.ts';
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

/** Sources whose path is not in their repository. A warning: without the remotes of a clone it may be another repository's. */
export function folderFindings({ objects, lineOf }: RenderResult, missing: readonly Source[]): Finding[] {
  const keys = new Set(missing.map(namespacedName));
  return objects
    .filter(({ object }) => kindOf(object) === 'Source' && keys.has(namespacedName(object)))
    .map(({ object, origin }) => {
      const { path } = (object as Source).spec;
      const message = `there is no folder ${path} in this repository`;
      const line = lineOf(origin, 'spec.path');
      return { file: origin.file, line, field: 'spec.path', message, severity: 'warning' };
    });
}

/** MetricTemplates, AlertProviders and scalers that Canaries name and that are in none of the files. `keys`: of all objects that were found. */
export function referenceFindings(
  { objects, lineOf }: RenderResult,
  keys: ReadonlySet<string>,
  complete: boolean,
): Finding[] {
  return objects.flatMap(({ object, origin }) =>
    kindOf(object) === 'Canary'
      ? referencesOf(object)
          .filter(({ group, kind, namespace, name }) => !keys.has([group, kind, namespace, name].join('|')))
          .map(({ field, kind, namespace, name }): Finding => {
            const shown = namespace ? `${namespace}/${name}` : name;
            const at = { file: origin.file, line: lineOf(origin, field), field };
            // Templates and alerts are often shared; a scaler belongs to its target.
            if (complete && field === 'spec.autoscalerRef')
              return { ...at, message: `${kind} ${shown} is in no file of this Source`, severity: 'problem' };
            const message = `${kind} ${shown} is in none of these files; it must come from elsewhere`;
            return { ...at, message, severity: 'warning' };
          })
      : [],
  );
}

interface Reference {
  readonly field: string;
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** From the object as it came: one that does not parse is named anyway. */
function referencesOf({ metadata, spec }: KubernetesObject): Reference[] {
  const { analysis, postPromotion, autoscalerRef } = (spec ?? {}) as RawSpec;
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
  const scaler = scalerOf(autoscalerRef, metadata.namespace ?? '');
  const named = lists.flatMap(({ at, entries, by, kind }) =>
    (Array.isArray(entries) ? (entries as RawEntry[]) : []).flatMap((entry, index) => {
      const reference = recordOf(entry?.[by]);
      const name = textOf(reference.name);
      if (name === undefined) return [];
      const namespace = textOf(reference.namespace) ?? metadata.namespace ?? '';
      const field = `spec.${at}[${index}].${by}`;
      return [{ field, group: 'flagger.app', kind, namespace, name }];
    }),
  );
  return [...named, ...scaler];
}

function scalerOf(autoscalerRef: unknown, namespace: string): Reference[] {
  const reference = recordOf(autoscalerRef);
  const [kind, name] = [textOf(reference.kind), textOf(reference.name)];
  if (kind === undefined || name === undefined) return [];
  const group =
    textOf(reference.apiVersion)?.split('/')[0] ?? (kind === 'ScaledObject' ? 'keda.sh' : 'autoscaling');
  return [{ field: 'spec.autoscalerRef', group, kind, namespace, name }];
}

interface RawSpec {
  analysis?: { metrics?: unknown; alerts?: unknown } | null;
  postPromotion?: { metrics?: unknown } | null;
  autoscalerRef?: unknown;
}

type RawEntry = { [By in 'templateRef' | 'providerRef']?: unknown } | null;
