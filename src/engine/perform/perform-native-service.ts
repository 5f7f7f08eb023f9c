/** The Service of the new pods of a workload that is rolled out in place (ADR 21). */
import { referenceOf } from '../../api/kubernetes.ts';
import { serviceNames } from '../../workload/names.ts';
import { isNativeService, nativeService } from '../../workload/native/native-service.ts';
import { versionOf } from '../canary/canary-parts.ts';
import { serviceKind } from '../observe/namespace-view.ts';
import type { Performer } from './action-context.ts';
import { withMark } from './applied.ts';
import { applyRollout } from './write.ts';

/** Made where `service` is given, and gone again where it is not; Services for users' requests are theirs. */
export const ensureNativeService: Performer<'EnsureServices'> = async (context) => {
  const { parts, observation } = context;
  const { canary, target, revision, view } = observation;
  const live = view.get(serviceKind, serviceNames(canary).canary);
  if (!canary.spec.service) {
    if (!live || !isNativeService(live, canary)) return false;
    await parts.cluster.delete(referenceOf(live), versionOf(live));
    return true;
  }
  const wanted = target && nativeService({ canary, target, revision, live });
  return wanted ? applyRollout(context, wanted, live, withMark) : false;
};
