import { expect, it, test } from 'vitest';
import { changesBetween, deleteField, edited, listed, unifiedDiff, withoutDocument } from './edit.ts';

const text = `# ours
apiVersion: v1
kind: GitRepository
metadata:
  name: apps
spec:
  ref: {branch: main}
---
# and what applies it
kind: Kustomization
metadata:
  name: apps
spec:
  prune: true # all
  finalizers:
  - a
`;
const files = new Map([['apps.yaml', text]]);
const which = { kind: 'Kustomization', name: 'apps', namespace: 'flux-system' };

it('changes one field of one document, and keeps comments and the rest as it was', () => {
  const after = edited(files, 'apps.yaml', which, (document) => document.setIn(['spec', 'prune'], false));
  expect(after.get('apps.yaml')).toBe(text.replace('prune: true', 'prune: false'));
  expect(
    changesBetween(
      files,
      edited(files, 'apps.yaml', { ...which, name: 'other' }, () => undefined),
    ),
  ).toEqual([]);
});

it('keeps the line ends of Windows', () => {
  const windows = (unix: string) => unix.replaceAll('\n', '\r\n');
  const kustomization = windows('resources:\n- apps.yaml\n');
  const before = new Map([
    ['apps.yaml', windows(text)],
    ['kustomization.yaml', kustomization],
  ]);
  const after = edited(before, 'apps.yaml', which, (document) => document.setIn(['spec', 'prune'], false));
  expect(after.get('apps.yaml')).toBe(windows(text.replace('prune: true', 'prune: false')));
  const added = listed(before, 'kustomization.yaml', { entry: 'source.yaml', sibling: 'apps.yaml' });
  expect(added.get('kustomization.yaml')).toBe(`${kustomization}- source.yaml\r\n`);
});

it('leaves numbers as they are written', () => {
  const numbers = 'values: {mode: 0644, id: 12345678901234567890, share: 1.10, port: 8080}\n';
  const before = new Map([['apps.yaml', text + numbers]]);
  const after = edited(before, 'apps.yaml', which, (document) => document.setIn(['spec', 'prune'], false));
  expect(after.get('apps.yaml')).toContain(numbers);
});

it('takes a field away with what is empty above it', () => {
  const after = edited(files, 'apps.yaml', which, (document) =>
    deleteField(document, ['spec', 'finalizers', 0]),
  );
  expect(after.get('apps.yaml')).toBe(text.replace('  finalizers:\n  - a\n', ''));
});

it('takes a document away, and a file with its last one', () => {
  const once = withoutDocument(files, 'apps.yaml', which);
  expect(once.get('apps.yaml')).toBe(text.slice(0, text.indexOf('---')));
  expect([...withoutDocument(once, 'apps.yaml', { kind: 'GitRepository', name: 'apps' }).keys()]).toEqual([]);
});

it('adds to a kustomization that lists the file beside it, and to no other', () => {
  const kustomization = 'resources:\n- apps.yaml\n';
  const both = new Map([['kustomization.yaml', kustomization]]);
  const added = listed(both, 'kustomization.yaml', { entry: 'source.yaml', sibling: 'apps.yaml' });
  expect(added.get('kustomization.yaml')).toBe(`${kustomization}- source.yaml\n`);
  expect(listed(both, 'kustomization.yaml', { entry: 'source.yaml', sibling: 'x.yaml' })).toBe(both);
  expect(listed(added, 'kustomization.yaml', { entry: 'apps.yaml' }).get('kustomization.yaml')).toBe(
    'resources:\n- source.yaml\n',
  );
});

test('a new file and a changed one, as git apply reads them', () => {
  const [created] = changesBetween(new Map(), new Map([['a.yaml', 'kind: A\n']]));
  expect(created && unifiedDiff(created)).toEqual([
    '--- /dev/null',
    '+++ b/a.yaml',
    '@@ -0,0 +1,1 @@',
    '+kind: A',
  ]);
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const changed = lines.map((line, index) => (index === 4 ? 'four' : index === 15 ? 'fifteen' : line));
  const diff = unifiedDiff({ file: 'a', before: `${lines.join('\n')}\n`, after: `${changed.join('\n')}\n` });
  expect(diff.filter((line) => line.startsWith('@@'))).toEqual(['@@ -2,7 +2,7 @@', '@@ -13,7 +13,7 @@']);
  expect(diff.filter((line) => /^[-+][a-z]/.test(line))).toEqual([
    '-line 4',
    '+four',
    '-line 15',
    '+fifteen',
  ]);
});
