import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

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
  expect(bases).toHaveLength(2);
  for (const base of bases) expect(base).toMatch(/^FROM \S+:\S+@sha256:[0-9a-f]{64} AS \w+$/);
});

it('the final stage runs no command at build time and takes one prepared root', () => {
  expect(finalStage.filter((line) => /^(RUN|ADD|VOLUME) /.test(line))).toEqual([]);
  const copies = finalStage.filter((line) => line.startsWith('COPY '));
  expect(copies).toEqual(['COPY --from=build --chown=0:0 /image /']);
});

it('the prepared root holds Node, the libraries it is linked with, and the bundle with its licences and packages', () => {
  const text = lines.join('\n');
  expect(text).toContain(
    "cp --parents -L $(ldd /usr/local/bin/node | grep -o '/[^ ]*') /usr/local/bin/node /image",
  );
  expect(text).toContain(
    'cp dist/main.js dist/THIRD_PARTY_NOTICES.txt dist/sbom.cdx.json LICENSE /image/app/',
  );
});

it('the programs that render are found on its PATH, with the one that bounds them', () => {
  const text = lines.join('\n');
  expect(text).toContain('COPY --from=programs /programs/ /image/usr/local/bin/');
  expect(text).toContain('/usr/bin/prlimit /image');
  expect(finalStage).toContain('ENV NODE_ENV=production PATH=/usr/local/bin:/usr/bin');
});

it('starts the program without a shell', () => {
  const entry = finalStage.find((line) => line.startsWith('ENTRYPOINT ')) ?? '';
  expect(JSON.parse(entry.slice('ENTRYPOINT '.length))).toEqual(['/usr/local/bin/node', '/app/main.js']);
});

it('builds with the same major version of Node that it runs', () => {
  expect(lines.filter((line) => / AS build$/.test(line))).toEqual([
    expect.stringMatching(/node:24-\S+ AS build$/),
  ]);
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
