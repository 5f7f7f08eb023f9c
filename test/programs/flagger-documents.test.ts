/**
 * What Flagger publishes for its users (README, documentation, examples, end-to-end scripts of its Go module), read as Holdfast reads it. What does not pass is
 * listed with the message that users get: pieces of documents, and what Flagger's own CRDs refuse.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type KindName, kinds } from '../../src/api/kinds/kinds.ts';
import { parseKind } from '../../src/api/kinds/parse.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { readCanary } from '../../src/engine/canary/status/spec-in-force.ts';
import { routerFor } from '../../src/providers/routing/table.ts';
import { programs } from './programs.ts';

interface Published {
  readonly file: string;
  readonly object: Partial<KubernetesObject>;
}

/** A block of a page, as deep as its fence is indented. */
const fenced = /^([ \t]*)```[^\n]*\n([\s\S]*?)^[ \t]*```/gm;
const heredoc = /<<-?['"]?EOF['"]?[^\n]*\n([\s\S]*?)^EOF/gm;
const ofFlagger = /^kind: *(Canary|MetricTemplate|AlertProvider)\b/m;

/** The YAML of a file: whole, in blocks of a page, or in here-documents of a script or of such a block. */
function yamlIn(file: string, text: string): string[] {
  const blocks = file.endsWith('.md')
    ? [...text.matchAll(fenced)].map(([, indent = '', block = '']) => block.replaceAll(`\n${indent}`, '\n'))
    : [text];
  return blocks.flatMap((block) => {
    const inside = [...block.matchAll(heredoc)].map(([, body = '']) => body);
    return inside.length > 0 || file.endsWith('.sh') ? inside : [block];
  });
}

function published(): Published[] {
  const files = readdirSync(programs.flaggerModule, { recursive: true })
    .map(String)
    .filter((name) => /^(README|CHANGELOG|artifacts|docs|kustomize|test)\b.*\.(md|ya?ml|sh)$/.test(name));
  return files.toSorted().flatMap((file) =>
    yamlIn(file, readFileSync(join(programs.flaggerModule, file), 'utf8'))
      .flatMap((text) => text.split(/^---.*$/m))
      .filter((document) => ofFlagger.test(document))
      .map((document) => ({ file, object: parse(document) as Partial<KubernetesObject> })),
  );
}

/** Why the controller would not act on it; undefined when it would. */
function refusalOf(object: Partial<KubernetesObject>): string | undefined {
  const parsed = parseKind(object.kind as KindName, object);
  if (!parsed.ok) return parsed.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  if (object.kind !== 'Canary') return undefined;
  const canaries = { get: () => undefined, list: () => [], byKey: () => [], remember: () => undefined };
  const options = {
    ...{ defaultProvider: 'istio', minIntervalMs: 10_000 },
    ...{ selectorLabels: ['app'], includeLabelPrefixes: [] },
  };
  const read = readCanary({ canaries, options, routing: routerFor }, object as KubernetesObject);
  return 'failure' in read ? read.failure.message : undefined;
}

const gateway = 'docs/gitbook/tutorials/gatewayapi-progressive-delivery.md';
const pieceOfGateway = 'spec.targetRef is missing; spec.service.port is missing; spec.analysis is missing';
const noTarget = 'spec.targetRef is missing; spec.analysis is missing';
const noName = 'metadata.name is missing';

/** Pieces: what a page shows of a document whose rest it leaves out. */
const pieces: ReadonlyArray<readonly [file: string, name: string | undefined, message: string]> = [
  ['CHANGELOG.md', 'my-canary', noTarget],
  ['docs/gitbook/faq.md', 'podinfo', 'spec.analysis is missing'],
  ['docs/gitbook/faq.md', undefined, noName],
  ['docs/gitbook/faq.md', 'frontend', noTarget],
  ['docs/gitbook/faq.md', 'backend', noTarget],
  ['docs/gitbook/faq.md', 'website', noTarget],
  ['docs/gitbook/faq.md', 'webapi', noTarget],
  ['docs/gitbook/faq.md', undefined, noName],
  ['docs/gitbook/faq.md', undefined, noName],
  [gateway, 'podinfo', pieceOfGateway],
  [gateway, 'podinfo', pieceOfGateway],
  [gateway, 'podinfo', pieceOfGateway],
  [gateway, 'podinfo', pieceOfGateway],
  [gateway, 'podinfo', pieceOfGateway],
  ['docs/gitbook/tutorials/istio-progressive-delivery.md', 'podinfo', 'spec.targetRef is missing'],
  ['docs/gitbook/tutorials/istio-progressive-delivery.md', undefined, noName],
  ['docs/gitbook/tutorials/zero-downtime-deployments.md', undefined, noName],
  [
    'docs/gitbook/usage/metrics.md',
    'my-metric',
    'spec.provider.type is missing; spec.provider.secretRef.name is missing; spec.query is missing',
  ],
  ['docs/gitbook/usage/metrics.md', 'my-metric', 'spec.query is missing'],
  ['docs/gitbook/usage/metrics.md', 'my-metric', 'spec.query is missing'],
];

/** What Flagger's own CRDs refuse: versions that they do not serve, and an address beside a Secret. */
const refusedByFlagger: typeof pieces = [
  [
    'docs/gitbook/usage/alerting.md',
    'on-call',
    'spec only one may be given of: type + address, or type + secretRef; found type + address and type + secretRef',
  ],
  [
    'docs/gitbook/usage/metrics.md',
    'cloudwatch-error-rate',
    `apiVersion must be ${kinds.MetricTemplate.group}/v1beta1`,
  ],
  ['kustomize/README.md', 'app', `apiVersion must be ${kinds.Canary.group}/v1beta1`],
];

const all = published();

test('every whole document of Flagger passes; of the others each is refused for what it lacks', () => {
  const refused = all.flatMap(({ file, object }) => {
    const message = refusalOf(object);
    return message === undefined ? [] : [[file, object.metadata?.name, message] as const];
  });
  expect(refused.map(String).toSorted()).toEqual([...pieces, ...refusedByFlagger].map(String).toSorted());
  expect(all.length - refused.length).toBe(97);
});
