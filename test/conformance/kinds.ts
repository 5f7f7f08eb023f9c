import { expect, test } from 'vitest';
import { configMap, deployment } from './bodies.ts';
import type { Suite } from './suite.ts';
import { freshNamespace, type Json } from './target.ts';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

/** What single kinds add: defaults, validation, subresources, two versions. */
export function kindTests({ target }: Suite): void {
  test('turns stringData into data and keeps immutable data', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const metadata = { name: 's', namespace };
    const body = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: 'text' }, immutable: true };
    const created = await target().request('POST', path, { body });
    expect(created.body.data).toEqual({ key: Buffer.from('text').toString('base64') });
    expect([created.body.type, created.body.stringData]).toEqual(['Opaque', undefined]);
    const changed = await target().request('PATCH', `${path}/s`, {
      body: { data: { key: 'eA==' } },
      contentType: MERGE,
    });
    expect([changed.code, changed.body.reason]).toEqual([422, 'Invalid']);
    const labelled = await target().request('PATCH', `${path}/s`, {
      body: { metadata: { labels: { a: 'b' } } },
      contentType: MERGE,
    });
    expect(labelled.code).toBe(200);
  });

  test('refuses more than 1 MiB of data', async () => {
    const namespace = await freshNamespace(target());
    const body = configMap(namespace, 'big', { x: 'x'.repeat(1024 * 1024 + 1) });
    const { code, body: status } = await target().request(
      'POST',
      `/api/v1/namespaces/${namespace}/configmaps`,
      { body },
    );
    expect([code, status.reason]).toEqual([422, 'Invalid']);
  });

  test('assigns and keeps the address of a Service', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/services`;
    const spec = { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] };
    const { body: created } = await target().request('POST', path, {
      body: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace }, spec },
    });
    expect(created.spec.clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(created.spec.ports).toEqual([{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }]);
    const patched = await target().request('PATCH', `${path}/web`, {
      body: { spec: { selector: { app: 'other' } } },
      contentType: MERGE,
    });
    expect(patched.body.spec).toMatchObject({
      clusterIP: created.spec.clusterIP,
      selector: { app: 'other' },
    });
    const moved = await target().request('PATCH', `${path}/web`, {
      body: { spec: { clusterIP: '10.96.77.7' } },
      contentType: MERGE,
    });
    expect(moved.code).toBe(422);
  });

  test('refuses a Deployment whose selector does not match, and a new selector', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const odd = deployment(namespace, 'web', { replicas: 0, selector: { matchLabels: { app: 'other' } } });
    const refused = await target().request('POST', path, { body: odd });
    expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid']);
    expect(refused.body.details.causes[0].field).toBe('spec.template.metadata.labels');
    await target().request('POST', path, { body: deployment(namespace, 'web', { replicas: 0 }) });
    const body = [
      { op: 'add', path: '/spec/selector/matchLabels/tier', value: 'x' },
      { op: 'add', path: '/spec/template/metadata/labels/tier', value: 'x' },
    ];
    const moved = await target().request('PATCH', `${path}/web`, { body, contentType: JSON_PATCH });
    expect([moved.code, moved.body.message]).toEqual([422, expect.stringContaining('field is immutable')]);
  });

  test('fills the defaults of a Deployment', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const { body } = await target().request('POST', path, { body: deployment(namespace, 'web', {}) });
    expect(body.spec).toMatchObject({
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    });
    expect(body.spec.template.spec).toEqual({
      containers: [
        {
          name: 'app',
          image: 'fake/app:v1',
          ports: [{ containerPort: 8080, protocol: 'TCP' }],
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
    });
  });

  test('fills the defaults of probes, variables and volumes', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const container = {
      env: [
        { name: 'EMPTY', value: '' },
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      livenessProbe: { tcpSocket: { port: 8080 } },
      readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
      volumeMounts: [{ name: 'config', mountPath: '/config', readOnly: false }],
    };
    const web = deployment(namespace, 'web', { replicas: 0 }, container);
    web.spec.template.spec.volumes = [
      { name: 'config', configMap: { name: 'config' } },
      { name: 'key', secret: { secretName: 'key', items: [] } },
    ];
    const { body } = await target().request('POST', path, { body: web });
    const pod = body.spec.template.spec;
    const times = { timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 };
    expect(pod.containers[0]).toMatchObject({
      livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 10, ...times },
      readinessProbe: { httpGet: { path: '/', port: 8080, scheme: 'HTTP' }, periodSeconds: 1, ...times },
    });
    expect(pod.containers[0].env).toEqual([
      { name: 'EMPTY' },
      { name: 'POD', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
    ]);
    expect(pod.containers[0].volumeMounts).toEqual([{ name: 'config', mountPath: '/config' }]);
    expect(pod.volumes).toEqual([
      { name: 'config', configMap: { name: 'config', defaultMode: 420 } },
      { name: 'key', secret: { secretName: 'key', defaultMode: 420 } },
    ]);
  });

  test('leaves out what is empty', async () => {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const empty = configMap(namespace, 'empty', {}, { labels: {}, annotations: {}, finalizers: [] });
    const { body } = await target().request('POST', path, { body: { ...empty, binaryData: {} } });
    expect(Object.keys(body).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    expect(['labels', 'annotations', 'finalizers'].filter((field) => field in body.metadata)).toEqual([]);
    const web = deployment(
      namespace,
      'web',
      { replicas: 0, paused: false, minReadySeconds: 0 },
      { args: [] },
    );
    Object.assign(web.spec.template.spec, { nodeSelector: {}, volumes: [], hostNetwork: false });
    const made = await target().request('POST', `/apis/apps/v1/namespaces/${namespace}/deployments`, {
      body: web,
    });
    const { paused, minReadySeconds, template } = made.body.spec;
    expect([paused, minReadySeconds, template.spec.containers[0].args]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const { nodeSelector, volumes, hostNetwork } = template.spec;
    expect([nodeSelector, volumes, hostNetwork]).toEqual([undefined, undefined, undefined]);
  });

  test('refuses an unknown field when validation is strict, and drops it otherwise', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const odd = deployment(namespace, 'web', { replicas: 0, replicsa: 3 });
    const strict = await target().request('POST', `${path}?fieldValidation=Strict`, { body: odd });
    expect([strict.code, strict.body.message]).toEqual([
      400,
      expect.stringContaining('unknown field "spec.replicsa"'),
    ]);
    const lenient = await target().request('POST', `${path}?fieldValidation=Ignore`, { body: odd });
    expect([lenient.code, lenient.body.spec.replicsa]).toEqual([201, undefined]);
  });

  test('writes status only through its subresource, and spec only outside it', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/replicasets`;
    const body = { ...deployment(namespace, 'web', { replicas: 0 }), kind: 'ReplicaSet' };
    await target().request('POST', path, { body: { ...body, status: { replicas: 7 } } });
    const status = { replicas: 0, conditions: [{ type: 'ReplicaFailure', status: 'False', reason: 'Test' }] };
    const patch = { spec: { replicas: 5 }, status };
    const written = await target().request('PATCH', `${path}/web/status`, {
      body: patch,
      contentType: MERGE,
    });
    expect([written.code, written.body.spec.replicas]).toEqual([200, 0]);
    expect(written.body.status.conditions[0].reason).toBe('Test');
    const ignored = await target().request('PATCH', `${path}/web`, {
      body: { status: { replicas: 9 } },
      contentType: MERGE,
    });
    expect(ignored.body.status.replicas).toBe(0);
  });

  test('scales through the scale subresource', async () => {
    const namespace = await freshNamespace(target());
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    await target().request('POST', path, {
      body: deployment(namespace, 'web', { replicas: 0, paused: true }),
    });
    const scale = await target().request('GET', `${path}/web/scale`);
    expect(scale.body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: {},
      status: { selector: 'app=web' },
    });
    const scaled = await target().request('PATCH', `${path}/web/scale`, {
      body: { spec: { replicas: 1 } },
      contentType: MERGE,
    });
    expect(scaled.body.spec.replicas).toBe(1);
    const read = await target().request('GET', `${path}/web`);
    expect([read.body.spec.replicas, read.body.metadata.generation]).toEqual([1, 2]);
    const writer = read.body.metadata.managedFields.find((entry: Json) => entry.subresource === 'scale');
    expect(writer.fieldsV1).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  test('shows an event in both of its versions', async () => {
    const namespace = await freshNamespace(target());
    const regarding = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace };
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'e', namespace },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/test',
      reportingInstance: 'test-1',
      action: 'Testing',
      reason: 'Tested',
      regarding,
      note: 'all is well',
      type: 'Normal',
    };
    const created = await target().request('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
      body: event,
    });
    expect([created.code, created.body.note]).toEqual([201, 'all is well']);
    const selector = 'involvedObject.name%3Da,reason%3DTested';
    const { body } = await target().request(
      'GET',
      `/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`,
    );
    expect(body.items).toHaveLength(1);
    expect(body.items[0]).toMatchObject({
      message: 'all is well',
      involvedObject: regarding,
      reportingComponent: 'example.com/test',
    });
    const path = `/api/v1/namespaces/${namespace}/events/e`;
    const patched = await target().request('PATCH', path, {
      body: { message: 'better', count: 2 },
      contentType: MERGE,
    });
    expect([patched.code, patched.body.message]).toEqual([200, 'better']);
    const other = await target().request('GET', `/apis/events.k8s.io/v1/namespaces/${namespace}/events/e`);
    expect([other.body.note, other.body.deprecatedCount]).toEqual(['better', 2]);
  });
}
