import { spawn } from 'node:child_process';

/** Runs native git; resolves with its output, rejects with the end of its error output. */
export function git(
  repository: string,
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['--git-dir', repository, ...args], {
      env: { ...process.env, ...options.env },
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output.trim());
      else
        reject(
          new Error(`git ${args[0]} in ${repository} failed with code ${code}: ${errors.trim().slice(-500)}`),
        );
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}
