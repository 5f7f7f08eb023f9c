import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate, testKey } from '../../../src/http/testing/servers.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import { deployment } from '../bed/manifests.ts';

/** What the webhook changes in one namespace. */
export interface RewriteOptions {
  readonly namespace: string;
  readonly resource: 'pods' | 'deployments';
  /** JSON patch operations for one object. */
  readonly patch: (object: Reviewed) => readonly object[];
}

/** The object under review, as far as tests look. */
export interface Reviewed {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: ReadonlyArray<{ readonly image: string }>;
    readonly template: {
      readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> };
    };
  };
}

/** A mutating admission webhook over TLS on 127.0.0.1, as registry mirrors and policy engines install them. */
export async function startRewritingWebhook(
  bed: BedClient,
  { namespace, resource, patch }: RewriteOptions,
): Promise<{ close(): Promise<void> }> {
  let isAsked = false;
  const server = createServer({ cert: testCertificate, key: testKey }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      isAsked = true;
      const { request: review } = JSON.parse(Buffer.concat(chunks).toString()) as {
        request: { uid: string; object: Reviewed };
      };
      const operations = Buffer.from(JSON.stringify(patch(review.object))).toString('base64');
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: { uid: review.uid, allowed: true, patchType: 'JSONPatch', patch: operations },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const name = `rewrite-${resource}-${namespace}`;
  await bed.apply([
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: 'rewrite.example.com',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Fail',
          timeoutSeconds: 30,
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          rules: [
            {
              apiGroups: [resource === 'pods' ? '' : 'apps'],
              apiVersions: ['v1'],
              operations: resource === 'pods' ? ['CREATE'] : ['CREATE', 'UPDATE'],
              resources: [resource],
            },
          ],
          clientConfig: {
            url: `https://127.0.0.1:${port}/`,
            caBundle: Buffer.from(testCertificate).toString('base64'),
          },
        },
      ],
    },
  ]);
  // The API server reads such configurations with a delay: until it asks about an object that nobody stores.
  const { path, object } = probeOf(resource, namespace);
  await waitFor(
    async () => {
      await bed.api.request('POST', path, object);
      return isAsked;
    },
    { timeoutMs: 120_000, intervalMs: 100, what: `${name} is in effect` },
  );
  return {
    async close() {
      await bed.kubectl(['delete', 'mutatingwebhookconfiguration', name]);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An object of the kind that is rewritten, and where it would be made without being stored. */
function probeOf(
  resource: RewriteOptions['resource'],
  namespace: string,
): { readonly path: string; readonly object: unknown } {
  const workload = deployment({ name: 'probe', image: 'app:probe' });
  const path = (version: string) => `/${version}/namespaces/${namespace}/${resource}?dryRun=All`;
  if (resource === 'deployments') return { path: path('apis/apps/v1'), object: workload };
  const { template } = workload.spec as { template: { spec: object } };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe' }, spec: template.spec };
  return { path: path('api/v1'), object: pod };
}
