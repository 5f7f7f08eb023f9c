import { configCopies } from '../workload/configs.ts';
import { sharedIn } from '../workload/expected-copies.ts';
import { digestAnnotation } from '../workload/names.ts';
import type { Performer } from './action-context.ts';
import { StaleView } from './failure.ts';
import { readLiveConfigs } from './live-configs.ts';
import { bytesOf } from './releases.ts';
import { applyUnwatched } from './write.ts';

/** Copies of the release that the primary runs, under the names that its pods ask for (S16). Costs no write where they are there. */
export const restoreConfigs: Performer<'RestoreConfigs'> = async (context, { digest }) => {
  const { canary, primary, view } = context.observation;
  if (primary?.metadata.annotations?.[digestAnnotation] !== digest) throw new StaleView('the primary');
  const { release } = await bytesOf(context, digest);
  const copies = configCopies({
    canary,
    release,
    liveConfigs: await readLiveConfigs(context.parts.cluster, view.namespace, release),
    sharedConfigs: sharedIn(primary, { canary, release }),
    includeLabelPrefixes: context.parts.options.includeLabelPrefixes,
  });
  let wrote = false;
  for (const copy of copies) wrote = (await applyUnwatched(context, copy)) || wrote;
  return wrote;
};
