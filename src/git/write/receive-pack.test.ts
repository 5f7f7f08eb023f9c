import { expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { encodePktLine, FLUSH } from '../wire/pkt-line.ts';
import type { GitTransport } from '../wire/transport.ts';
import { pushRef } from './receive-pack.ts';

const ref = 'refs/heads/main';
const before = 'a'.repeat(40);

/** A server that lists its branch, and reports these lines of a push. */
function serverThatReports(...lines: string[]): Pick<GitTransport, 'receivePack' | 'said'> {
  const listed = encodePktLine(`${before} ${ref}\0report-status\n`);
  return {
    said: (text) => text,
    receivePack: () => ({
      advertisement: async () => Buffer.concat([listed, FLUSH]),
      send: async () => Buffer.concat([...lines.map(encodePktLine), FLUSH]),
      close: () => {},
    }),
  };
}

it.each([
  ['a name of a ref that does not end', `ng ${'a'.repeat(60_000)}\rb`, 'did not say whether it moved'],
  ['a reason', `ng ${ref} protected branch\n`, 'protected branch'],
])('reads a report of %s at once', async (_, line, message) => {
  const transport = serverThatReports('unpack ok\n', line) as GitTransport;
  const effort = measureEffort();
  const pushed = pushRef(
    'https://git.example.com/shop',
    transport,
    { ref, before, after: 'b'.repeat(40) },
    [],
  );
  await expect(pushed).rejects.toThrow(message);
  expect(effort()).toBeLessThan(100);
});
