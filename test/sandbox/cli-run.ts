import { vi } from 'vitest';
import { runProgram } from '../../src/cli/commands.ts';

/** Runs a command line in this process; the exit code and everything it printed. */
export async function run(...argv: string[]): Promise<{ code: number; text: string }> {
  const written: string[] = [];
  const keep = (chunk: unknown) => {
    written.push(String(chunk));
    return true;
  };
  const streams = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(keep),
  );
  try {
    return { code: await runProgram(argv, '0.0.0'), text: written.join('') };
  } finally {
    for (const stream of streams) stream.mockRestore();
  }
}
