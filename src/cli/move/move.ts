import type { Connection } from '../../app/connection.ts';
import { createHttpClient } from '../../http/client.ts';
import type { ProgramPaths } from '../../render/build/programs.ts';
import { addressPolicy } from '../address-policy.ts';
import { connected } from '../connected.ts';
import { type CommandResult, type DataFormat, formatData, type Screen } from '../output.ts';
import { moveLines } from './move-text.ts';
import { planMoves } from './moves.ts';
import { exitCodeOf } from './step.ts';

/** What `holdfast adopt --from flux|argocd PATH` is asked. */
export interface MoveOptions {
  readonly tool: 'flux' | 'argocd';
  readonly path: string;
  readonly isBack: boolean;
  /** No cluster is asked. */
  readonly isOffline: boolean;
  readonly kubeconfig: string | undefined;
  readonly version: string;
  readonly programs: ProgramPaths;
  readonly format: 'text' | DataFormat;
  readonly screen: Screen;
}

/** Says what to commit and to run next. Writes neither to the tree nor to the cluster. Throws InputError and ApiError. */
export async function move(options: MoveOptions): Promise<CommandResult> {
  const { tool, path, isBack, isOffline, kubeconfig, version, format, screen } = options;
  const query = { tool, path, isBack };
  const moves = isOffline
    ? await planMoves({ ...query, cluster: undefined })
    : await connected({ kubeconfig, version }, (connection) =>
        withGit(connection, options, (cluster) => planMoves({ ...query, cluster })),
      );
  const note = isOffline
    ? ['Nothing was read back: no cluster was asked. No step is known to be safe yet.', '']
    : [];
  const stdout =
    format === 'text'
      ? `${[...note, ...moveLines(moves, screen)].join('\n')}\n`
      : formatData({ moves, readBack: !isOffline }, format);
  return { stdout, stderr: '', exitCode: exitCodeOf(moves) };
}

async function withGit<T>(
  connection: Connection,
  { version, programs }: MoveOptions,
  work: (cluster: {
    connection: Connection;
    http: ReturnType<typeof createHttpClient>;
    programs: ProgramPaths;
  }) => Promise<T>,
): Promise<T> {
  const http = createHttpClient({
    ...addressPolicy(connection.access.server),
    userAgent: `holdfast/${version}`,
  });
  try {
    return await work({ connection, http, programs });
  } finally {
    await http.close();
  }
}
