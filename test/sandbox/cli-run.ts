import { vi } from 'vitest';
import { runProgram } from '../../src/cli/commands.ts';

/** Runs a command line in this process; the exit code, everything it printed, and what of that is for programs. */
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
    return { code: await runProgram(argv, '0.0.0'), text: written.join(''), stdout: out.join('') };
  } finally {
    for (const stream of streams) stream.mockRestore();
  }
}
