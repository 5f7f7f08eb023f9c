import type { ClusterClient } from '../../cluster/client.ts';
import { isApiError } from '../../cluster/errors.ts';

/** Name of the Secret in which Argo CD keeps what it logs in with at this address; undefined where there is none, or none may be seen. Throws ApiError. */
export async function readCredentials(
  client: ClusterClient,
  namespace: string,
  url: string,
): Promise<string | undefined> {
  const found: Array<{ name: string; url: string }> = [];
  for (const type of ['repository', 'repo-creds']) {
    const labelSelector = `argocd.argoproj.io/secret-type=${type}`;
    const { items } = await client
      .list('v1', 'Secret', { namespace, labelSelector })
      .catch((error: unknown) => {
        if (isApiError(error, 'forbidden')) return { items: [] };
        throw error;
      });
    for (const { metadata, data } of items) {
      const { url: encoded = '', password } = (data ?? {}) as { url?: string; password?: string };
      if (password) found.push({ name: metadata.name, url: Buffer.from(encoded, 'base64').toString('utf8') });
    }
  }
  const fitting = found.filter((one) => one.url !== '' && url.startsWith(one.url));
  return fitting.sort((left, right) => right.url.length - left.url.length)[0]?.name;
}
