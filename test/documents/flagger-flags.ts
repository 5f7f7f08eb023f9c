/** Every flag and environment variable of Flagger 1.44's controller (flagger-behaviour 5.1) and what stands for it here. */

/** One of them. */
export interface FlaggerFlag {
  /** Without dashes; environment variables in capitals. */
  readonly name: string;
  readonly preset: string;
  /** Flags of `holdfast run` that stand for it. */
  readonly flags?: readonly string[];
  /** An environment variable of the same name is read. */
  readonly environment?: true;
  /** What is different, or why there is none. */
  readonly note?: string;
}

/** The same name and meaning. */
function same(name: string, preset: string, note?: string): FlaggerFlag {
  return { name, preset, flags: [`--${name}`], ...(note ? { note } : {}) };
}

function environment(name: string, note?: string): FlaggerFlag {
  return { name, preset: '', environment: true, ...(note ? { note } : {}) };
}

/** In the order of the reference. */
export const flaggerFlags: readonly FlaggerFlag[] = [
  same('kubeconfig', '', 'also KUBECONFIG and ~/.kube/config'),
  same('kubeconfig-qps', '100'),
  same('kubeconfig-burst', '250'),
  { name: 'master', preset: '', flags: ['--kubeconfig'], note: 'the kubeconfig names the server' },
  same('metrics-server', 'http://prometheus:9090'),
  {
    name: 'control-loop-interval',
    preset: '10s',
    note: 'none needed: Canaries are handled when something about them changes',
  },
  same('log-level', 'debug', 'here info; also trace and silent'),
  { name: 'port', preset: '8080', flags: ['--listen'], note: '127.0.0.1:8080, or :8080 for all addresses' },
  same('slack-url', ''),
  {
    name: 'slack-token',
    preset: '',
    note: 'the environment variable SLACK_TOKEN: arguments are readable by others',
  },
  same('slack-proxy-url', ''),
  same('slack-user', 'flagger'),
  same('slack-channel', '', 'here general'),
  same('event-webhook', ''),
  same('msteams-url', ''),
  same('msteams-proxy-url', ''),
  same('include-label-prefix', ''),
  same('threadiness', '2', 'here 8'),
  { name: 'zap-replace-globals', preset: 'false', note: 'none needed' },
  { name: 'zap-encoding', preset: 'json', note: 'always JSON' },
  same('namespace', '', 'keeps the Lease there too; --watch-namespaces takes several'),
  same('mesh-provider', 'istio', 'here kubernetes'),
  same('selector-labels', 'app,name,app.kubernetes.io/name'),
  same('ingress-annotations-prefix', 'nginx.ingress.kubernetes.io'),
  same('ingress-class', '', 'of every HTTPProxy'),
  { name: 'enable-leader-election', preset: 'false', note: 'always: a second copy only waits' },
  {
    name: 'leader-election-namespace',
    preset: 'kube-system',
    flags: ['--namespace'],
    note: 'else the namespace that Holdfast runs in (POD_NAMESPACE)',
  },
  same('enable-config-tracking', 'true'),
  { name: 'version', preset: '', note: '`holdfast --version`' },
  { name: 'kubeconfig-service-mesh', preset: '', note: 'comes with meshes that have a cluster of their own' },
  same('cluster-name', '', 'also names this cluster in Git'),
  {
    name: 'no-cross-namespace-refs',
    preset: 'false',
    flags: ['--cross-namespace-refs'],
    note: 'without it, references to other namespaces are refused, as with this flag of Flagger',
  },
  environment('SLACK_URL'),
  environment('SLACK_TOKEN'),
  environment('SLACK_PROXY_URL'),
  environment('MSTEAMS_URL', 'wins over Slack, as in Flagger'),
  environment('MSTEAMS_PROXY_URL'),
  environment('EVENT_WEBHOOK_URL'),
];
