import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { isRecord } from '../../src/api/kubernetes.ts';
import { allDifferences, contentOf } from '../../src/workload/compare/drift.ts';
import { freshNamespace, httpTarget, type Json, type Target } from '../conformance/target.ts';

let target: Target;
beforeAll(() => {
  const { apiServer, adminToken, ca } = inject('bed');
  target = httpTarget({ baseUrl: apiServer, token: adminToken, ca });
});
afterAll(() => target.close());

// Random objects, as people write them: with and without what is optional, in several spellings, and empty values.

const one = (...values: Json[]) => fc.constantFrom(...values);
const optional: { requiredKeys: [] } = { requiredKeys: [] };
const texts = fc.dictionary(one('a', 'b', 'x.io/c'), one('1', '2', ''), { maxKeys: 3 });
const byName = (item: fc.Arbitrary<Json>, maxLength = 2) =>
  fc.uniqueArray(item, { maxLength, selector: (each) => each.name });
const configMapKey = fc.record({ name: one('m', 'n'), key: one('k', 'l') });
const variable = fc.oneof(
  fc.record({ name: one('A', 'B', 'C'), value: one('1', '2', '') }),
  fc.record({ name: one('A', 'B', 'C'), valueFrom: fc.record({ configMapKeyRef: configMapKey }) }),
  fc.record({ name: one('A', 'B', 'C'), valueFrom: one({ fieldRef: { fieldPath: 'metadata.name' } }) }),
);
const amounts = fc.record(
  { cpu: one('100m', '0.1', 1, '1000m'), memory: one('1Gi', '1024Mi', '64M') },
  optional,
);
const probe = fc.record({
  httpGet: one({ port: 80 }, { port: 'http', path: '/x' }),
  periodSeconds: one(1, 10),
});
const container = fc
  .record({
    name: one('app', 'side'),
    image: one('a:1', 'a', 'a:latest'),
    more: fc.record(
      {
        args: fc.array(one('x', 'y'), { maxLength: 2 }),
        env: byName(variable, 3),
        envFrom: one([], [{ configMapRef: { name: 'm' } }], [{ prefix: 'P_', secretRef: { name: 's' } }]),
        ports: one([], [{ containerPort: 80 }], [{ containerPort: 80, protocol: 'UDP', name: 'http' }]),
        readinessProbe: probe,
        resources: fc.record({ requests: amounts, limits: one({ cpu: 2 }, {}) }, optional),
        securityContext: one({ runAsUser: 0 }, { allowPrivilegeEscalation: false }),
        volumeMounts: one([], [{ name: 'v', mountPath: '/a' }]),
      },
      optional,
    ),
  })
  .map(({ more, ...each }) => ({ ...each, ...more }));
const volume = fc.record({ name: one('v') }).chain((named) => {
  const kinds = [
    { emptyDir: {} },
    { configMap: { name: 'm' } },
    { secret: { secretName: 's', optional: true } },
  ];
  return one(...kinds.map((kind) => ({ ...named, ...kind })));
});
const labelSelector = { matchLabels: { app: 'w' } };
const apart = { weight: 1, podAffinityTerm: { topologyKey: 'node', labelSelector } };
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector };
const pod = fc
  .record({
    containers: fc.uniqueArray(container, { minLength: 1, maxLength: 2, selector: (each) => each.name }),
    volumes: fc.tuple(volume),
    more: fc.record(
      {
        nodeSelector: texts,
        affinity: one({ podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [apart] } }),
        automountServiceAccountToken: one(false, true),
        dnsConfig: one({ options: [{ name: 'ndots', value: '1' }] }),
        hostAliases: one([], [{ ip: '10.0.0.1', hostnames: ['a'] }]),
        securityContext: one({}, { fsGroup: 0 }, { runAsNonRoot: false, sysctls: [] }),
        topologySpreadConstraints: one([], [spread]),
        imagePullSecrets: byName(fc.record({ name: one('p', 'q') })),
        serviceAccountName: one('default', 'other'),
        terminationGracePeriodSeconds: one(0, 5, 30),
        tolerations: one([], [{ key: 't', operator: 'Exists' }]),
      },
      optional,
    ),
  })
  .map(({ more, ...each }) => ({ ...each, ...more }));
const workload = fc.record({
  spec: pod,
  annotations: texts,
  more: one({}, { minReadySeconds: 3 }, { minReadySeconds: 0 }),
});
const template = ({ spec, annotations, more }: Json) => ({
  ...more,
  selector: { matchLabels: { app: 'w' } },
  template: { metadata: { labels: { app: 'w' }, annotations }, spec },
});
const servicePort = fc.record({ name: one('a', 'b'), port: one(80, 81) });
const rule = fc.record(
  {
    matches: one([{ path: { value: '/x' } }], [{ headers: [{ name: 'h', value: 'v' }] }]),
    backendRefs: one(
      [{ name: 'w', port: 80 }],
      [
        { name: 'w', port: 80, weight: 0 },
        { name: 'v', port: 80 },
      ],
    ),
  },
  optional,
);

interface Kind {
  readonly kind: string;
  /** Of the collection; NS is the namespace. */
  readonly path: string;
  readonly content: fc.Arbitrary<Json>;
}

const kinds: readonly Kind[] = [
  {
    kind: 'apps/v1 Deployment',
    path: '/apis/apps/v1/namespaces/NS/deployments',
    content: workload.map((one) => ({ spec: { ...template(one), replicas: 0, paused: true } })),
  },
  {
    kind: 'apps/v1 StatefulSet',
    path: '/apis/apps/v1/namespaces/NS/statefulsets',
    content: workload.map((one) => ({ spec: { ...template(one), replicas: 0, serviceName: 'w' } })),
  },
  {
    kind: 'v1 Service',
    path: '/api/v1/namespaces/NS/services',
    content: fc
      .record({
        ports: fc.uniqueArray(servicePort, { minLength: 1, maxLength: 2, selector: (each) => each.port }),
        selector: texts,
      })
      .filter(({ ports }) => new Set(ports.map(({ name }) => name)).size === ports.length)
      .map((spec) => ({ spec })),
  },
  {
    kind: 'v1 ConfigMap',
    path: '/api/v1/namespaces/NS/configmaps',
    content: fc
      .record({ data: texts.map((each) => each), binaryData: one({}, { z: 'AA==' }) }, optional)
      .map(withPlainKeys),
  },
  {
    kind: 'gateway.networking.k8s.io/v1 HTTPRoute',
    path: '/apis/gateway.networking.k8s.io/v1/namespaces/NS/httproutes',
    content: fc
      .record({
        hostnames: one(['a.example.com'], ['a.example.com', 'b.example.com']),
        rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
      })
      .map((spec) => ({ spec })),
  },
];

/** Keys of a ConfigMap have no slash. */
function withPlainKeys({ data, ...rest }: Json): Json {
  if (!data) return rest;
  return {
    ...rest,
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key.replace('/', '.'), value])),
  };
}

/** The object without one field: every field of records, down to those of containers. */
function* withoutOneField(value: Json, depth = 0): Generator<Json> {
  if (depth > 5 || !(isRecord(value) || Array.isArray(value))) return;
  for (const [field, child] of Object.entries(value)) {
    if (isRecord(value)) {
      const { [field]: _, ...rest } = value;
      yield rest;
    }
    for (const less of withoutOneField(child, depth + 1))
      yield Array.isArray(value) ? value.with(Number(field), less) : { ...value, [field]: less };
  }
}

const stored = (object: Json): string => JSON.stringify(contentOf(object));

test.each(kinds)(
  '$kind: what the API server makes of it is no difference, and what is missing is one',
  async ({ kind, path, content }) => {
    const [apiVersion = '', name = ''] = kind.split(' ');
    const namespace = await freshNamespace(target);
    const send = (wanted: Json, object: string, query: string) =>
      target.request(
        'PATCH',
        `${path.replace('NS', namespace)}/${object}?fieldManager=compare&force=true${query}`,
        {
          body: { apiVersion, kind: name, metadata: { name: object, namespace }, ...wanted },
          contentType: 'application/apply-patch+yaml',
        },
      );
    const wrong: Json[] = [];
    let compared = 0;
    for (const [index, wanted] of fc.sample(content, { seed: 11, numRuns: 20 }).entries()) {
      const { code, body: live } = await send(wanted, `w${index}`, '');
      if (code !== 201) continue;
      const added = allDifferences(live, wanted);
      if (added.length > 0) wrong.push({ wanted, added });
      const fewer = [...withoutOneField(wanted)].filter((_, at) => at % 4 === index % 4);
      for (const less of fewer) {
        // As if somebody had taken the field away.
        const { code: answer, body: left } = await send(less, `w${index}`, '&dryRun=All');
        if (answer !== 200) continue;
        compared += 1;
        const isSame = stored(left) === stored(live);
        if (isSame !== (allDifferences(left, wanted).length === 0)) wrong.push({ wanted, less, isSame });
      }
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(10);
  },
);
