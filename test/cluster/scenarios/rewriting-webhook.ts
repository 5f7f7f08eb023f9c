import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate, testKey } from '../../../src/http/testing/certificate.ts';
import type { BedClient } from '../bed/client.ts';

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
  const server = createServer({ cert: testCertificate, key: testKey }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
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
  // The API server reads such configurations with a delay.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return {
    async close() {
      await bed.kubectl(['delete', 'mutatingwebhookconfiguration', name]);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
