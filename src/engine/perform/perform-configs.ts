import { isFollowed } from '../../release/refs.ts';
import { configCopies, configKey } from '../../workload/configs.ts';
import { sharedIn } from '../../workload/expected-copies.ts';
import { copyName, digestAnnotation } from '../../workload/names.ts';
import { StaleView } from '../failure.ts';
import { readLiveConfigs } from '../observe/live-configs.ts';
import { bytesOf } from '../observe/releases.ts';
import type { Performer } from './action-context.ts';
import { applyUnwatched } from './write.ts';

/** Copies of the release that the primary runs, under the names that its pods ask for (S16). Costs no write where they are there. */
export const restoreConfigs: Performer<'RestoreConfigs'> = async (context, { digest }) => {
  const { canary, primary, view } = context.observation;
  if (primary?.metadata.annotations?.[digestAnnotation] !== digest) throw new StaleView('the primary');
  const { release } = await bytesOf(context, digest);
  const sharedConfigs = sharedIn(primary, { canary, release });
  const found = await readLiveConfigs(context.parts.cluster, view.namespace, release);
  // Data outside Git that changed is for a release to try, unless the copy is to follow it, or is gone.
  const liveConfigs = found.filter((config) => {
    const { kind, metadata } = config;
    const name = copyName(canary, metadata.name, sharedConfigs.has(configKey(kind, metadata.name)));
    return isFollowed(config) || !view.configCopy(kind as 'ConfigMap' | 'Secret', name);
  });
  const { includeLabelPrefixes } = context.parts.options;
  const copies = configCopies({ canary, release, liveConfigs, sharedConfigs, includeLabelPrefixes });
  let wrote = false;
  for (const copy of copies) wrote = (await applyUnwatched(context, copy)) || wrote;
  return wrote;
};
