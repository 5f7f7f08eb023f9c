import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { writeKubeconfig } from '../access.ts';
import { addresses } from '../addresses.ts';
import { accountTokenOf, type Command, type Place } from './holdfast.ts';
import { knativeProgram } from './image.ts';

/** One of Knative's programs; where its pod names a service account, with a kubeconfig of that account. */
export async function knativeCommand(
  place: Place & { readonly knativeFolder: string },
  environment: Record<string, string>,
): Promise<Command> {
  const { pod, container, ca, folder, knativeFolder } = place;
  const program = join(knativeFolder, 'knative', knativeProgram(container.image ?? ''));
  const { serviceAccountName } = pod.spec as { serviceAccountName?: string };
  if (serviceAccountName === undefined) return { program, args: [], env: environment };
  const own = mkdtempSync(join(folder, `${pod.metadata.name}-`));
  const token = await accountTokenOf(place);
  const kubeconfig = writeKubeconfig(own, serviceAccountName, token, ca, addresses.apiServerOfPods);
  return { program, args: [], env: { ...environment, KUBECONFIG: kubeconfig } };
}
