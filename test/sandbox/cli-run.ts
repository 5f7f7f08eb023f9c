import { vi } from 'vitest';
import { runProgram } from '../../src/cli/commands.ts';
import { outputKindsIn } from '../output-documents.ts';

/**
 * Runs a command line in this process; the exit code, everything it printed, and what of that is for programs. With -o json that must be
 * documents which fit their schemas.
 */
export async function run(...argv: string[]): Promise<{ code: number; text: string; stdout: string }> {
  const written: string[] = [];
  const out: string[] = [];
  const streams = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((chunk: unknown) => {
      written.push(String(chunk));
      if (stream === process.stdout) out.push(String(chunk));
      return true;
    }),
  );
  try {
    const code = await runProgram(argv, '0.0.0');
    const stdout = out.join('');
    if (argv.includes('json') && outputKindsIn(stdout).length === 0 && stdout !== '')
      throw new Error(`not a document: ${stdout}`);
    return { code, text: written.join(''), stdout };
  } finally {
    for (const stream of streams) stream.mockRestore();
  }
}
