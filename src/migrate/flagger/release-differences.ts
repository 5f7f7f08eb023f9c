import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import { type Release, templateOf } from '../../release/release.ts';
import { comparableTemplate } from '../../workload/adopted-target.ts';
import { describeDifferences, reportedDifferences } from '../../workload/compare/difference-text.ts';
import { type Difference, differencesOf } from '../../workload/compare/semantic-compare.ts';
import { configKey } from '../../workload/shared/configs.ts';

/**
 * Where the target (`expected`) is not what the primary was made from (`actual`): fields of the pod template, then of tracked config. At most five;
 * values of Secrets are never shown. Pure.
 */
export function releaseDifferences(target: Release, primary: Release): FieldDifference[] {
  const [wanted, live] = [target, primary].map((release) => comparableTemplate(templateOf(release)));
  const template = describeDifferences(differencesBothWays(live, wanted), {
    isSecret: false,
    mostCharacters: reportedDifferences.characters,
  }).map(withPathPrefix('spec.template.'));
  return [...template, ...configDifferences(target.configs, primary.configs)].slice(
    0,
    reportedDifferences.fields,
  );
}

function configDifferences(
  target: readonly KubernetesObject[],
  primary: readonly KubernetesObject[],
): FieldDifference[] {
  const [wanted, live] = [target, primary].map(
    (configs) => new Map(configs.map((config) => [configKey(config.kind, config.metadata.name), config])),
  );
  const keys = [...new Set([...(wanted?.keys() ?? []), ...(live?.keys() ?? [])])].sort();
  return keys.flatMap((key) => {
    const found = differencesBothWays(configData(live?.get(key)), configData(wanted?.get(key)));
    return describeDifferences(found, {
      isSecret: key.startsWith('Secret/'),
      mostCharacters: reportedDifferences.characters,
    }).map(withPathPrefix(`${key}: `));
  });
}

function configData({ data, binaryData }: Partial<KubernetesObject> = {}): Record<string, unknown> {
  return { data: data ?? {}, binaryData: binaryData ?? {} };
}

/** What the one lacks or says otherwise, and then what it has more. */
function differencesBothWays(live: unknown, wanted: unknown): Difference[] {
  const missing = differencesOf(live, wanted);
  const known = new Set(missing.map(({ path }) => path));
  const more = differencesOf(wanted, live).filter(({ path }) => !known.has(path));
  return [...missing, ...more.map(({ path, wanted: had }) => ({ path, wanted: undefined, live: had }))];
}

function withPathPrefix(prefix: string): (difference: FieldDifference) => FieldDifference {
  return (difference) => ({ ...difference, path: prefix + difference.path });
}
