import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import type { BedClient } from '../bed/client.ts';

const main = resolve(import.meta.dirname, '../../../dist/main.js');

/** Runs `node dist/main.js` with these words, as somebody at a terminal would, and reads what it printed as JSON. */
export function runJson<T>(bed: BedClient, ...words: readonly string[]): Promise<T> {
  const argv = [main, ...words, '--kubeconfig', bed.kubeconfigPath, '-o', 'json'];
  return new Promise((done, failed) => {
    execFile(process.execPath, argv, (_error, stdout, stderr) => {
      try {
        done(JSON.parse(stdout) as T);
      } catch {
        failed(new Error(`holdfast ${words.join(' ')}: ${stderr}${stdout}`));
      }
    });
  });
}
