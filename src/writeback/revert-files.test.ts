import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffLines, splitLines } from './line-diff.ts';
import { type FileVersions, revertFiles } from './revert-files.ts';

function bytes(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}

function undone(versions: { bad?: string; head?: string; good?: string; only?: FileVersions['only'] }) {
  const { bad, head, good, only } = versions;
  const file = { path: 'web.yaml', bad: bytes(bad), head: bytes(head), good: bytes(good) };
  const { changes, conflicts } = revertFiles([only ? { ...file, only } : file]);
  if (conflicts.length > 0) return 'conflict';
  if (!changes.has('web.yaml')) return 'same';
  const changed = changes.get('web.yaml');
  return changed && Buffer.from(changed).toString();
}

const good = 'kind: Deployment\nimage: v1\nreplicas: 2\nname: web\n';
const bad = good.replace('v1', 'v2');

describe('undo', () => {
  it('takes the bad lines back and keeps later ones', () => {
    expect(undone({ good, bad, head: bad })).toBe(good);
    expect(undone({ good, bad, head: `${bad}later: yes\n` })).toBe(`${good}later: yes\n`);
  });

  it('does nothing where it was reverted already', () => {
    expect(undone({ good, bad, head: good })).toBe('same');
    expect(undone({ good, bad, head: `${good}later: yes\n` })).toBe('same');
  });

  it('does not guess where the same lines changed since', () => {
    expect(undone({ good, bad, head: bad.replace('v2', 'v3') })).toBe('conflict');
    expect(undone({ good, bad })).toBe('conflict');
  });

  it('keeps changes of others in a long file, be they thousands of lines away', () => {
    const file = (image: string, last: string) =>
      [
        `image: ${image}`,
        ...Array.from({ length: 5_000 }, (_, index) => `line: ${index}`),
        `last: ${last}`,
      ].join('\n');
    const versions = { good: file('v1', 'old'), bad: file('v2', 'old'), head: file('v2', 'new') };
    expect(undone(versions)).toBe(file('v1', 'new'));
  });

  it('takes a file for changed whole where nearly every one of many lines differs', () => {
    const file = (word: string) =>
      Array.from({ length: 6_000 }, (_, index) => `${word}: ${index}\n`).join('');
    expect(undone({ good: file('a'), bad: file('b'), head: file('b') })).toBe(file('a'));
    expect(undone({ good: file('a'), bad: file('b'), head: `${file('b')}more: 1\n` })).toBe('conflict');
  });

  it('takes out a file that the bad commit brought, and puts back one that it took', () => {
    expect(undone({ bad: 'a: 1\n', head: 'a: 1\n' })).toBeUndefined();
    expect(undone({ bad: 'a: 1\n', head: 'a: 2\n' })).toBe('conflict');
    expect(undone({ good: 'a: 1\n' })).toBe('a: 1\n');
  });

  it('leaves documents of other objects alone', () => {
    const other = (text: string) => `kind: Service\nport: ${text}\n---\n`;
    const only = { bad: [4], good: [4] };
    const versions = { good: other('80') + good, bad: other('90') + bad, head: other('90') + bad, only };
    expect(undone(versions)).toBe(other('90') + good);
  });

  it('does not touch text that is no UTF-8 unless it takes the whole file back', () => {
    const path = 'x';
    const [one, two, three] = [1, 2, 3].map((byte) => Buffer.from([255, byte]));
    expect(revertFiles([{ path, bad: two, head: two, good: one }]).changes.get(path)).toEqual(one);
    expect(revertFiles([{ path, bad: two, head: three, good: one }]).conflicts).toEqual([path]);
  });
});

describe('diffLines', () => {
  const text = fc.array<string>(fc.constantFrom<string>('a\n', 'b\n', 'c\n', 'd\n'), { maxLength: 12 });

  it('leads from the one text to the other, with an equal line between two hunks', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const result = [...before];
        const hunks = diffLines(before, after);
        for (const { start, end, lines } of hunks.toReversed()) result.splice(start, end - start, ...lines);
        expect(result).toEqual(after);
        for (const [index, hunk] of hunks.entries())
          expect(hunk.start).toBeGreaterThan(hunks[index - 1]?.end ?? -1);
      }),
    );
  });

  it('keeps line ends as they are', () => {
    expect(splitLines('a\r\nb\n\nc')).toEqual(['a\r\n', 'b\n', '\n', 'c']);
  });
});
