import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildModule } from '../../../../scripts/programs-build.mjs';
import type { Container, KubernetesObject } from '../../../../src/api/kubernetes.ts';
import { accountFolder, assembleImage, image, inImage } from '../../../image.ts';
import { accountToken } from '../access.ts';
import { addresses } from '../addresses.ts';
import type { ApiClient } from '../api-client.ts';

/** How a container's process is started. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Which container is started, and for whom. */
export interface Place {
  readonly pod: KubernetesObject;
  readonly container: Container;
  readonly address: string;
  readonly client: ApiClient;
  /** The certificate of the API server, PEM. */
  readonly ca: string;
  /** Removed with the bed. */
  readonly folder: string;
}

let assembled: Promise<string> | undefined;

/** The image is made when the first pod wants it: `dist` as the last build left it. */
async function assemble(folder: string): Promise<string> {
  const root = join(folder, 'holdfast-image');
  const { kustomize = '', helm = '' } = {
    ...(await buildModule('programs/kustomize')),
    ...(await buildModule('programs/helm')),
  };
  await assembleImage(root, resolve(import.meta.dirname, '../../../..'), { kustomize, helm });
  return root;
}

/**
 * Holdfast as its image runs it: its own root file system, read-only, and the user without rights; the container's arguments, its emptyDir
 * volumes, the token of its service account and the address of the API server. 0.0.0.0 is the pod's address, since pods share a network namespace.
 */
export async function holdfastCommand(place: Place, environment: Record<string, string>): Promise<Command> {
  const { pod, container, address, folder } = place;
  assembled ??= assemble(folder);
  const own = mkdtempSync(join(folder, `${pod.metadata.name}-`));
  const mounts: Record<string, string> = { [accountFolder]: await accountOf(place, own) };
  const { volumes = [] } = pod.spec as { volumes?: Array<{ name: string; emptyDir?: object }> };
  const { volumeMounts = [], args = image.command } = container as {
    volumeMounts?: Array<{ name: string; mountPath: string }>;
    args?: readonly string[];
  };
  for (const { name, mountPath } of volumeMounts) {
    if (!volumes.some((volume) => volume.name === name && volume.emptyDir))
      throw new Error(`the bed mounts emptyDir volumes in Holdfast's pods, and ${name} is none`);
    mounts[mountPath] = emptyFolder(own, `volume-${name}`);
  }
  const given = args.map((word) => word.replace('0.0.0.0', address));
  const [program, words] = inImage(await assembled, emptyFolder(own, 'root'), mounts, [
    ...image.entrypoint,
    ...given,
  ]);
  const { hostname, port } = new URL(addresses.apiServer);
  const server = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  return { program, args: words, env: { ...environment, ...image.environment, ...server } };
}

function emptyFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}

async function accountOf(place: Place, own: string): Promise<string> {
  const folder = emptyFolder(own, 'account');
  const namespace = place.pod.metadata.namespace ?? '';
  const token = await accountTokenOf(place);
  for (const [name, text] of Object.entries({ token, 'ca.crt': place.ca, namespace }))
    writeFileSync(join(folder, name), text);
  return folder;
}

/** A token of the pod's service account. */
export function accountTokenOf({ pod, client }: Place): Promise<string> {
  const { serviceAccountName = 'default' } = pod.spec as { serviceAccountName?: string };
  return accountToken(client, pod.metadata.namespace ?? '', serviceAccountName);
}
