import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imageNode } from '../scripts/node.mjs';

const root = join(import.meta.dirname, '..');
const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n');
const last = lines.findLastIndex((line) => line.startsWith('FROM '));
const finalStage = lines.slice(last);

it('the image runs as nobody in particular, on nothing but what is copied into it', () => {
  expect(finalStage[0]).toBe('FROM scratch');
  expect(finalStage).toContain('USER 65532:65532');
});

it('every base is named by its digest', () => {
  const bases = lines.filter((line) => line.startsWith('FROM ') && line !== 'FROM scratch');
  expect(bases).toHaveLength(3);
  for (const base of bases)
    expect(base).toMatch(/^FROM (--platform=\$BUILDPLATFORM )?\S+:\S+@sha256:[0-9a-f]{64} AS \w+$/);
});

it('the final stage runs no command at build time and takes one prepared root', () => {
  expect(finalStage.filter((line) => /^(RUN|ADD|VOLUME) /.test(line))).toEqual([]);
  const copies = finalStage.filter((line) => line.startsWith('COPY '));
  expect(copies).toEqual(['COPY --from=root --chown=0:0 /image /']);
});

it('only libraries of the target are looked up under emulation; what compiles runs on the machine of the builder', () => {
  const stages = lines.join('\n').split(/^(?=FROM )/m);
  const emulated = stages.filter(
    (stage) => / AS /.test(stage) && !stage.includes('--platform=$BUILDPLATFORM'),
  );
  expect(emulated).toHaveLength(1);
  expect(emulated[0]?.split('\n').filter((line) => line.startsWith('RUN '))).toEqual([
    'RUN sh /src/image-root.sh /image /src',
  ]);
  expect(lines).toContain('ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH');
});

it('starts the program without a shell', () => {
  const entry = finalStage.find((line) => line.startsWith('ENTRYPOINT ')) ?? '';
  expect(JSON.parse(entry.slice('ENTRYPOINT '.length))).toEqual(['/usr/local/bin/node', '/app/main.js']);
});

it('builds with the very Node that it runs', () => {
  const nodes = lines.flatMap((line) => /node:24-\S+@sha256:[0-9a-f]+/.exec(line)?.[0] ?? []);
  expect(nodes).toHaveLength(2);
  expect(new Set(nodes).size).toBe(1);
});

it('runs on the Node that the suites ran on', () => {
  const [major] = imageNode.version.split('.');
  expect(lines.find((line) => line.endsWith(' AS root'))).toContain(`FROM node:${major}-`);
});

it('sends nothing to the builder but what the build reads and the image holds', () => {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  expect(rules[0]).toBe('*');
  const allowed = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  expect(allowed.sort()).toEqual([
    'LICENSE',
    'package-lock.json',
    'package.json',
    'programs',
    'sandbox',
    'scripts',
    'src',
    'tsconfig.json',
  ]);
});
