import { expect, test } from 'vitest';
import { limits } from '../api/limits.ts';
import { fill, head, lines } from './hostile.test-support.ts';
import { renderPlain } from './render.ts';

// What is hostile in files is read in test/hostile/yaml.test.ts, in a process whose memory is measured.

test('the largest ordinary files are read', () => {
  const keys = `${head}data:\n${lines(19_000, (index) => `  key-${index}: "value"`)}\n`;
  const text = `${head}data:\n  text: |\n${fill('    a line of text\n', 1_000_000)}`;
  const documents = lines(
    limits.documentsPerFile,
    (index) => `---\n${head.replace('name: a', `name: a${index}`)}`,
  );
  for (const content of [keys, text, documents]) {
    expect(renderPlain([{ path: 'a.yaml', bytes: Buffer.from(content) }]).problems).toEqual([]);
  }
});
