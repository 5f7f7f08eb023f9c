import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../app/options.ts';
import { canaryStatus } from '../status-rows.ts';

/** The digest of the release under way. Throws InputError when there is none. */
export function releaseUnderWay(canary: KubernetesObject): string {
  const digest = canaryStatus(canary).run?.digest;
  if (digest) return digest;
  throw new InputError(`${describe(canary)}: no release is under way`);
}
