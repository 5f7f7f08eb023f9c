import { describe } from '../../api/kubernetes.ts';
import type { Release, WorkloadSettings } from '../../release/release.ts';
import { settingsKey, settingsOf } from '../../release/settings.ts';
import type { Observation } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { EngineError } from '../failure.ts';
import type { ReadContext } from '../perform/action-context.ts';
import type { CanaryName } from '../records/records.ts';

/** The bytes of a release and the settings to write with it. */
export interface ReleaseBytes {
  readonly release: Release;
  readonly settings: WorkloadSettings;
  readonly settingsKey: string;
}

/** Names the Canary of an observation for records. */
export function nameOf({ canary }: Observation): CanaryName {
  return { namespace: canary.metadata.namespace ?? '', name: canary.metadata.name };
}

/**
 * The bytes of a digest: from Git while head is that release, else from what Git said earlier, else from the record, checked (S6, S12).
 * Settings are head's when head is that release, else those the record carries. Throws EngineError ReleaseUnknown.
 */
export async function bytesOf({ parts, observation }: ReadContext, digest: string): Promise<ReleaseBytes> {
  const key = keyOf(observation.canary);
  const head = parts.heads.of(key).release;
  if (head?.digest === digest) return withSettings(head, settingsOf(head.target));
  const kept = observation.world.records.find((record) => record.digest === digest);
  if (kept && kept.damaged === undefined) {
    const { release, settings, commit } = await parts.records.load(nameOf(observation), digest);
    return withSettings({ ...release, commit }, settings);
  }
  const earlier = parts.lostRecords.of(key, digest);
  if (earlier) return withSettings(earlier, settingsOf(earlier.target));
  throw new EngineError(
    'ReleaseUnknown',
    `${describe(observation.canary)}: the manifests of release ${digest.slice(0, 15)} are neither at head nor in a record${kept?.damaged ? ` (${kept.damaged})` : ''}`,
    true,
  );
}

function withSettings(release: Release, settings: WorkloadSettings): ReleaseBytes {
  return { release, settings, settingsKey: settingsKey(settings) };
}
