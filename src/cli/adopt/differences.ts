import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import { type Release, templateOf } from '../../release/release.ts';
import { comparableTemplate } from '../../workload/adopted.ts';
import { configKey } from '../../workload/configs.ts';
import { type Difference, differencesOf } from '../../workload/covers.ts';
import { inWords } from '../../workload/field-differences.ts';

const mostFields = 5;
const mostCharacters = 60;

/**
 * Where the target (`expected`) is not what the primary was made from (`actual`): fields of the pod template, then of tracked config. At most five;
 * values of Secrets are never told. Pure.
 */
export function releaseDifferences(target: Release, primary: Release): FieldDifference[] {
  const [wanted, live] = [target, primary].map((release) => comparableTemplate(templateOf(release)));
  const template = inWords(bothWays(live, wanted), { isSecret: false, mostCharacters }).map(
    under('spec.template.'),
  );
  return [...template, ...configDifferences(target.configs, primary.configs)].slice(0, mostFields);
}

function configDifferences(
  target: readonly KubernetesObject[],
  primary: readonly KubernetesObject[],
): FieldDifference[] {
  const [wanted, live] = [target, primary].map(
    (configs) => new Map(configs.map((config) => [keyOf(config), config])),
  );
  const keys = [...new Set([...(wanted?.keys() ?? []), ...(live?.keys() ?? [])])].sort();
  return keys.flatMap((key) => {
    const found = bothWays(contentOf(live?.get(key)), contentOf(wanted?.get(key)));
    return inWords(found, { isSecret: key.startsWith('Secret/'), mostCharacters }).map(under(`${key}: `));
  });
}

function keyOf({ kind, metadata }: KubernetesObject): string {
  return configKey(kind, metadata.name);
}

function contentOf({ data, binaryData }: Partial<KubernetesObject> = {}): Record<string, unknown> {
  return { data: data ?? {}, binaryData: binaryData ?? {} };
}

/** What the one lacks or says otherwise, and then what it has more. */
function bothWays(live: unknown, wanted: unknown): Difference[] {
  const missing = differencesOf(live, wanted);
  const known = new Set(missing.map(({ path }) => path));
  const more = differencesOf(wanted, live).filter(({ path }) => !known.has(path));
  return [...missing, ...more.map(({ path, wanted: had }) => ({ path, wanted: undefined, live: had }))];
}

function under(prefix: string): (difference: FieldDifference) => FieldDifference {
  return (difference) => ({ ...difference, path: prefix + difference.path });
}
