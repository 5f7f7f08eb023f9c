import { type DocumentRow, type Json, sourceDocument } from './builders.ts';

function templateDocument(spec: Json): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name: 'latency', namespace: 'default' },
    spec,
  };
}

function alertDocument(spec: Json): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name: 'chat', namespace: 'default' },
    spec,
  };
}

/** Sources, accepted and refused. */
export const sources: DocumentRow[] = [
  { name: 'a Source with url and branch', object: sourceDocument() },
  {
    name: 'a Source with everything',
    object: sourceDocument({
      ref: { semver: '>=1.0.0', rewrite: 'allow' },
      path: './clusters/prod',
      schedule: '*/2 * * * *',
      timeZone: 'Europe/Oslo',
      timeout: '1m',
      retryInterval: '10s',
      secretRef: { name: 'shop-git' },
      verify: { mode: 'HEAD', secretRef: { name: 'signers' } },
      renderer: 'kustomize',
      apply: false,
      prune: true,
      wait: true,
      force: false,
      ignore: ['docs/**'],
      defaultNamespace: 'shop',
      serviceAccountName: 'shop-deployer',
      allow: { namespaces: ['shop'], kinds: ['Deployment.apps'] },
      windows: [{ kind: 'deny', schedule: '0 8 * * 1-5', duration: '9h', timeZone: 'Europe/Oslo' }],
      write: { ledger: true, revert: 'pullRequest', status: true },
      alerts: [{ name: 'ops', severity: 'error', providerRef: { name: 'chat' } }],
      dependsOn: [{ name: 'base' }],
      suspend: true,
    }),
  },
  { name: 'a Source at a commit', object: sourceDocument({ ref: { commit: 'a'.repeat(40) } }) },
  { name: 'a Source without ref', object: sourceDocument({ ref: undefined }), refusedAt: 'spec.ref' },
  { name: 'an empty ref', object: sourceDocument({ ref: { rewrite: 'wait' } }), refusedAt: 'spec.ref' },
  {
    name: 'a branch and a tag',
    object: sourceDocument({ ref: { branch: 'main', tag: 'v1' } }),
    refusedAt: 'spec.ref',
  },
  {
    name: 'a short commit',
    object: sourceDocument({ ref: { commit: 'abc1234' } }),
    refusedAt: 'spec.ref.commit',
  },
  {
    name: 'an address in the file system',
    object: sourceDocument({ url: 'file:///srv/git/a.git' }),
    refusedAt: 'spec.url',
  },
  {
    name: 'an ssh address',
    object: sourceDocument({ url: 'ssh://git@example.com/a.git' }),
  },
  {
    name: 'an ssh address without a scheme',
    object: sourceDocument({ url: 'git@example.com:acme/a.git' }),
  },
  {
    name: 'interval and schedule',
    object: sourceDocument({ interval: '30s', schedule: '@hourly' }),
    refusedAt: 'spec',
  },
  { name: 'an interval in words', object: sourceDocument({ interval: 'often' }), refusedAt: 'spec.interval' },
  {
    name: 'a window without length',
    object: sourceDocument({ windows: [{ kind: 'allow', schedule: '@daily' }] }),
    refusedAt: 'spec.windows[0].duration',
  },
  {
    name: 'a revert by an unknown way',
    object: sourceDocument({ write: { revert: 'push' } }),
    refusedAt: 'spec.write.revert',
  },
];

/** MetricTemplates and AlertProviders, accepted and refused. */
export const templatesAndAlerts: DocumentRow[] = [
  {
    name: 'a Prometheus template',
    object: templateDocument({
      provider: {
        type: 'prometheus',
        address: 'http://prometheus:9090',
        headers: { 'X-Scope-OrgID': ['shop'] },
        secretRef: { name: 'prometheus' },
        insecureSkipVerify: true,
      },
      query: 'sum(rate(x{namespace="{{ namespace }}"}[{{ interval }}]))',
    }),
  },
  {
    name: 'a CloudWatch template',
    object: templateDocument({ provider: { type: 'cloudwatch', region: 'eu-north-1' }, query: '[]' }),
  },
  {
    name: 'a template without query',
    object: templateDocument({ provider: { type: 'prometheus' } }),
    refusedAt: 'spec.query',
  },
  {
    name: 'a template of an unknown provider',
    object: templateDocument({ provider: { type: 'zabbix' }, query: 'x' }),
    refusedAt: 'spec.provider.type',
  },
  {
    name: 'a chat by address',
    object: alertDocument({ type: 'slack', channel: 'on-call', address: 'https://chat.example.com/x' }),
  },
  {
    name: 'a chat by Secret',
    object: alertDocument({ type: 'msteams', username: 'cd', secretRef: { name: 'chat' } }),
  },
  {
    name: 'a chat by address and Secret',
    object: alertDocument({
      type: 'slack',
      address: 'https://chat.example.com/x',
      secretRef: { name: 'chat' },
    }),
    refusedAt: 'spec',
  },
  {
    name: 'a chat of an unknown type',
    object: alertDocument({ type: 'irc', address: 'https://x' }),
    refusedAt: 'spec.type',
  },
  { name: 'a chat without address', object: alertDocument({ type: 'slack' }), refusedAt: 'spec' },
];
