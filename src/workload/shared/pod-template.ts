/** From the target's pod template to the primary's (flagger-behaviour.md 2.10). Pure; the input is never changed. */
import { type Container, isRecord, type PodSpec, type PodTemplate } from '../../api/kubernetes.ts';
import { copyableEntries, type SelectorLabel } from './metadata.ts';

type Fields = Record<string, unknown>;

/** New name of a tracked config, or undefined when the name stays. */
type ConfigNames = (kind: 'ConfigMap' | 'Secret', name: string) => string | undefined;

/** Where a pod names a config. */
interface Reference {
  field: string;
  nameField: string;
  kind: 'ConfigMap' | 'Secret';
}

const volumeReferences: readonly Reference[] = [
  { field: 'configMap', nameField: 'name', kind: 'ConfigMap' },
  { field: 'secret', nameField: 'secretName', kind: 'Secret' },
];
const projectedReferences: readonly Reference[] = [
  { field: 'configMap', nameField: 'name', kind: 'ConfigMap' },
  { field: 'secret', nameField: 'name', kind: 'Secret' },
];
const valueFromReferences: readonly Reference[] = [
  { field: 'configMapKeyRef', nameField: 'name', kind: 'ConfigMap' },
  { field: 'secretKeyRef', nameField: 'name', kind: 'Secret' },
];
const envFromReferences: readonly Reference[] = [
  { field: 'configMapRef', nameField: 'name', kind: 'ConfigMap' },
  { field: 'secretRef', nameField: 'name', kind: 'Secret' },
];

/** What changes between the two templates. */
export interface RewriteRules {
  /** Name of the target workload; affinity terms that name it are about its own pods. */
  targetName: string;
  label: SelectorLabel;
  /** Label keys whose values name the workload in affinity and spread rules. */
  selectorLabels: readonly string[];
  configNames: ConfigNames;
}

/** The other way round: the target's pod template that a primary's was made from, without what Flagger stamps on it. */
export function targetTemplate(template: PodTemplate, rules: RewriteRules): PodTemplate {
  const { label, targetName } = rules;
  const primary = `${targetName}-primary`;
  const back: Renaming = {
    configNames: rules.configNames,
    ownLabel: { [label.key]: label.canary },
    ownValue: (key, value) => {
      if (key === label.key && value === label.primary) return label.canary;
      return rules.selectorLabels.includes(key) && value === primary ? targetName : value;
    },
  };
  return rewrittenTemplate(template, back);
}

/** The primary's pod template. An identical input gives an identical output, so an unchanged release never restarts pods. */
export function primaryTemplate(template: PodTemplate, rules: RewriteRules): PodTemplate {
  const { label, targetName, selectorLabels, configNames } = rules;
  return rewrittenTemplate(template, {
    configNames,
    ownLabel: { [label.key]: label.primary },
    // Flagger compares with the workload's name only; the value of its selector label means the same pods (2.10, both are rewritten).
    ownValue: (key, value) => {
      if (key === label.key && value === label.canary) return label.primary;
      return selectorLabels.includes(key) && value === targetName ? `${targetName}-primary` : value;
    },
  });
}

/** What the two directions differ in. */
interface Renaming {
  readonly configNames: ConfigNames;
  readonly ownLabel: Record<string, string>;
  /** The value of a label in an affinity or spread rule. */
  readonly ownValue: (key: string, value: unknown) => unknown;
}

function rewrittenTemplate(template: PodTemplate, rules: Renaming): PodTemplate {
  const { metadata, spec } = template;
  const annotations = copyableEntries(metadata?.annotations);
  const rewritten: NonNullable<PodTemplate['metadata']> = {
    ...metadata,
    labels: { ...copyableEntries(metadata?.labels), ...rules.ownLabel },
  };
  delete rewritten.annotations;
  if (Object.keys(annotations).length > 0) rewritten.annotations = annotations;
  return { ...template, metadata: rewritten, spec: rewrittenPodSpec(spec, rules) };
}

function rewrittenPodSpec(spec: PodSpec, rules: Renaming): PodSpec {
  const { configNames } = rules;
  const container = (original: Container): Container => {
    const rewritten: Container = { ...original };
    if (original.env)
      rewritten.env = original.env.map((entry) => {
        if (!isRecord(entry.valueFrom)) return entry;
        return { ...entry, valueFrom: renamed(entry.valueFrom, valueFromReferences, configNames) };
      });
    if (original.envFrom)
      rewritten.envFrom = original.envFrom.map((source) => renamed(source, envFromReferences, configNames));
    return rewritten;
  };
  const rewritten: PodSpec = { ...spec, containers: spec.containers.map(container) };
  if (spec.initContainers) rewritten.initContainers = spec.initContainers.map(container);
  if (spec.volumes) rewritten.volumes = spec.volumes.map((volume) => volumeSource(volume, rules));
  if (isList(spec.topologySpreadConstraints))
    rewritten.topologySpreadConstraints = spec.topologySpreadConstraints.map((term) => podTerm(term, rules));
  const affinity = podAffinities(spec.affinity, rules);
  if (affinity) rewritten.affinity = affinity;
  return rewritten;
}

function volumeSource(volume: Fields, { configNames }: Renaming): Fields {
  const source = renamed(volume, volumeReferences, configNames);
  const { projected } = source;
  if (!isRecord(projected) || !isList(projected.sources)) return source;
  const sources = projected.sources.map((one) =>
    isRecord(one) ? renamed(one, projectedReferences, configNames) : one,
  );
  return { ...source, projected: { ...projected, sources } };
}

/** `holder[field][nameField]` of each reference given its new name, if it has one. */
function renamed(holder: Fields, references: readonly Reference[], configNames: ConfigNames): Fields {
  const rewritten = { ...holder };
  for (const { field, nameField, kind } of references) {
    const reference = holder[field];
    const name = isRecord(reference) ? reference[nameField] : undefined;
    const newName = typeof name === 'string' ? configNames(kind, name) : undefined;
    if (newName !== undefined) rewritten[field] = { ...(reference as Fields), [nameField]: newName };
  }
  return rewritten;
}

/** Flagger leaves podAffinity alone: a primary that has to run beside pods like its own then waits for a node with a pod of the canary, which is at zero. */
function podAffinities(affinity: unknown, rules: Renaming): Fields | undefined {
  if (!isRecord(affinity)) return undefined;
  const rewritten: Fields = { ...affinity };
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const terms = affinity[kind];
    if (isRecord(terms)) rewritten[kind] = affinityTerms(terms, rules);
  }
  return rewritten;
}

function affinityTerms(terms: Fields, rules: Renaming): Fields {
  const rewritten: Fields = { ...terms };
  const required = terms.requiredDuringSchedulingIgnoredDuringExecution;
  if (isList(required))
    rewritten.requiredDuringSchedulingIgnoredDuringExecution = required.map((term) => podTerm(term, rules));
  const preferred = terms.preferredDuringSchedulingIgnoredDuringExecution;
  if (isList(preferred))
    rewritten.preferredDuringSchedulingIgnoredDuringExecution = preferred.map((weighted) =>
      isRecord(weighted)
        ? { ...weighted, podAffinityTerm: podTerm(weighted.podAffinityTerm, rules) }
        : weighted,
    );
  return rewritten;
}

/** A term with a labelSelector: values that name the one workload, under a selector label, name the other instead. */
function podTerm(term: unknown, rules: Renaming): unknown {
  if (!isRecord(term) || !isRecord(term.labelSelector)) return term;
  const selector: Fields = { ...term.labelSelector };
  if (isRecord(selector.matchLabels))
    selector.matchLabels = Object.fromEntries(
      Object.entries(selector.matchLabels).map(([key, value]) => [key, rules.ownValue(key, value)]),
    );
  if (isList(selector.matchExpressions))
    selector.matchExpressions = selector.matchExpressions.map((expression) =>
      isRecord(expression) && typeof expression.key === 'string' && isList(expression.values)
        ? {
            ...expression,
            values: expression.values.map((value) => rules.ownValue(String(expression.key), value)),
          }
        : expression,
    );
  return { ...term, labelSelector: selector };
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
