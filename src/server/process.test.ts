import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLog } from './process.ts';

test('a terminal gets a readable line, written before the call returns', async () => {
  const lines: string[] = [];
  const terminal = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const log = await createLog('info', Object.assign(terminal, { isTTY: true }) as never);
  log.info({ url: 'http://127.0.0.1:8080' }, 'Holdfast is starting');
  expect(lines.join('')).toMatch(/INFO.*Holdfast is starting[\s\S]*url: "http:\/\/127\.0\.0\.1:8080"/);
});
