/** Commands for a person to run. Pure. */
import { groupOf, type KubernetesObject, partOfLabel } from '../api/kubernetes.ts';
import type { FormerOwner } from '../engine/sync/scope/former-owner.ts';
import { writeYaml } from '../render/yaml/values.ts';
import {
  type ManagedFieldsEntry,
  managedFieldsOf,
  relinquishedFields,
} from '../workload/compare/managed-fields.ts';
import type { Member, MoveFacts } from './facts.ts';

/** A shell command. Names of files and objects come from outside: each word is quoted, so that it stays one word and runs nothing. */
export function shellLine(...words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** Commands that apply a file; none where another object applies it. */
export function applyCommands(facts: MoveFacts | undefined, file: string | undefined): string[] {
  return facts && !facts.parent && file ? [shellLine('kubectl', 'apply', '-f', file)] : [];
}

/** The tools' kinds as kubectl takes them. */
export const resources: Readonly<Record<FormerOwner['kind'], string>> = {
  Kustomization: 'kustomizations.kustomize.toolkit.fluxcd.io',
  Application: 'applications.argoproj.io',
};

/** Commands that show the other tool's object, once what applies it has looked. */
export function showCommands(
  facts: MoveFacts | undefined,
  { kind, namespace, name }: FormerOwner,
  ...more: readonly string[]
): string[] {
  const look = facts?.parent ? [facts.parent.look] : [];
  return [...look, shellLine('kubectl', '-n', namespace, 'get', resources[kind], name, ...more)];
}

// What Holdfast leaves on objects that another tool has taken over. Pure.

const manager = 'holdfast';
const tools = ['kustomize-controller', 'argocd-controller'];

/** Neither the label of a Source is on it, nor does Holdfast hold fields that the tool has applied as well. */
export function isReleased(live: KubernetesObject): boolean {
  if (live.metadata.labels?.[partOfLabel] !== undefined) return false;
  return !ownEntry(live) || !isCovered(live);
}

/** Commands that remove them; only metadata of the objects changes. */
export function releaseCommands(members: readonly Member[]): string[] {
  const objects = members.flatMap(({ live }) => (live && !isReleased(live) ? [live] : []));
  const whole = objects.filter((live) => ownEntry(live) && isCovered(live));
  const labelled = objects.filter((live) => !whole.includes(live));
  // Applied by a manager, an object without fields gives up everything that this manager has.
  const stubs = whole.map(({ apiVersion, kind, metadata: { name, namespace } }) => {
    return { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) } };
  });
  return [
    ...(whole.length > 0
      ? [
          `kubectl apply --server-side --field-manager=${manager} -f - <<'END'\n${stubs.map(writeYaml).join('---\n')}END`,
        ]
      : []),
    ...labelled.map(({ apiVersion, kind, metadata }) => {
      const group = groupOf(apiVersion);
      const place = metadata.namespace ? ['-n', metadata.namespace] : [];
      const type = `${kind.toLowerCase()}${group ? `.${group}` : ''}`;
      return shellLine('kubectl', ...place, 'label', type, metadata.name, `${partOfLabel}-`);
    }),
  ];
}

function ownEntry(live: KubernetesObject): ManagedFieldsEntry | undefined {
  return managedFieldsOf(live).find((entry) => entry.manager === manager && entry.operation === 'Apply');
}

/** The tool has applied every field that Holdfast applied, except our label: giving them up removes nothing. */
function isCovered(live: KubernetesObject): boolean {
  const own = ownEntry(live);
  const theirs = managedFieldsOf(live).find(
    (entry) => tools.includes(entry.manager ?? '') && entry.operation === 'Apply' && !entry.subresource,
  );
  if (!own || !theirs) return false;
  const left = relinquishedFields(
    [
      { ...own, manager: 'left' },
      { ...theirs, manager },
    ],
    { from: ['left'], to: manager },
  )?.find((entry) => entry.manager === 'left');
  const only = JSON.stringify({ 'f:metadata': { 'f:labels': { [`f:${partOfLabel}`]: {} } } });
  return left === undefined || JSON.stringify(left.fieldsV1) === only;
}
