/** What people write wrongly in MetricTemplates, AlertProviders and Sources. */
import type { Slip, Slips } from './slips.test-support.ts';

const template = `apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: latency, namespace: shop}
spec:
  provider: {type: prometheus, address: "http://prometheus:9090"}
  query: |
    histogram_quantile({{ variables.quantile }},
      sum(rate(latency_bucket{job="{{ target }}"}[{{ interval }}])) by (le))
`;

const inTemplate: readonly Slip[] = [
  [
    '{{ target }}',
    '{{ tagret }}',
    ['apps/template.yaml:6: spec.query: line 2, column 35: tagret is unknown; did you mean target?'],
  ],
  [
    '{{ target }}',
    '{{ target | qoute }}',
    [
      'apps/template.yaml:6: spec.query: line 2, column 44: qoute is not a function; there are printf, print, eq, ne, not, and, or, index',
    ],
  ],
  [
    '{{ target }}',
    '{{ target }',
    ['apps/template.yaml:6: spec.query: line 2, column 32: this action has no end: }} is missing'],
  ],
  [
    'type: prometheus',
    'type: promethues',
    ['apps/template.yaml:5: spec.provider.type: "promethues" is not one of …; did you mean prometheus?'],
  ],
  [
    'http://prometheus:9090',
    'prometheus:9090',
    ['apps/template.yaml:5: spec.provider.address: must begin with http:// or https://'],
  ],
  [
    '  query: |',
    '  querry: |',
    [
      'apps/template.yaml:4: spec.query: is missing',
      'apps/template.yaml:6: spec.querry: is not a known field and would be dropped; did you mean query?',
    ],
  ],
];

const alert = `apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: team, namespace: shop}
spec: {type: slack, channel: team, address: "https://hooks.example.com/x"}
`;

const inAlert: readonly Slip[] = [
  [
    'type: slack',
    'type: slak',
    ['apps/alert.yaml:4: spec.type: "slak" is not one of …; did you mean slack?'],
  ],
  [
    'https://hooks.example.com/x',
    'hooks.example.com',
    ['apps/alert.yaml:4: spec.address: must begin with http:// or https://'],
  ],
];

const source = `apiVersion: holdfast.dev/v1alpha1
kind: Source
metadata: {name: shop, namespace: shop}
spec:
  url: https://git.example.com/shop.git
  ref: {branch: main}
  path: apps
  interval: 30s
`;

const inSource: readonly Slip[] = [
  [
    'kind: Source',
    'kind: Sorce',
    ['clusters/source.yaml:2: kind: holdfast.dev/v1alpha1 has no kind Sorce; did you mean Source?'],
  ],
  [
    'https://git',
    'htps://git',
    ['clusters/source.yaml:5: spec.url: must begin with http://, https:// or ssh://, or be user@host:path'],
  ],
  [
    'branch: main',
    'brnach: main',
    [
      'clusters/source.yaml:6: spec.ref: needs exactly one of: branch, or tag, or semver, or commit; none is complete',
      'clusters/source.yaml:6: spec.ref.brnach: is not a known field and would be dropped; did you mean branch?',
    ],
  ],
  [
    'path: apps',
    'path: ../apps',
    ['clusters/source.yaml:7: spec.path: must stay inside the repository, written with /'],
  ],
  [
    'path: apps',
    'path: aps',
    ['clusters/source.yaml:7: warning: spec.path: there is no folder aps in this repository'],
  ],
  [
    'interval: 30s',
    'interval: half a minute',
    ['clusters/source.yaml:8: spec.interval: must be a duration such as 30s, 1m30s or 500ms'],
  ],
];

/** The files, and what may be wrong in them. */
export const wrongOthers: readonly Slips[] = [
  { file: 'apps/template.yaml', valid: template, slips: inTemplate },
  { file: 'apps/alert.yaml', valid: alert, slips: inAlert },
  { file: 'clusters/source.yaml', valid: source, slips: inSource },
];
