import { canaryStatus, conditionOf } from '../api/canary/summary.ts';
import { InputError } from '../api/problems.ts';
import { type DataFormat, printable } from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { type ClusterFlags, outputOption } from './flags.ts';
import { nameIn, type RequestClient, readOne, withPlace } from './requests/request.ts';
import runbooks from './runbooks.json' with { type: 'json' };

/** The lines of docs/runbooks by reason, so that a runbook can be read wherever the program is. */
const pages: Readonly<Record<string, readonly string[]>> = runbooks;

interface RunbookFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly output: 'text' | DataFormat;
}

/** `holdfast runbook`: what to do about a reason, or about a Canary as it is. */
export const runbookCommand: CliCommand = {
  register(program, context) {
    withPlace(
      program
        .command('runbook')
        .summary('show what to do about a Canary, or about a reason')
        .description(
          'show the runbook of a Canary as it is now, with its names filled in, or of a reason such as PrimaryNotReady',
        )
        .argument('[subject]', 'NAME or canary/NAME, or a reason (default: list the reasons)'),
    )
      .addOption(outputOption('text', ['text', 'json', 'yaml']))
      .action(async (subject: string | undefined, flags: RunbookFlags) => {
        const { output } = flags;
        if (subject === undefined) {
          const reasons = Object.keys(pages);
          const list =
            output === 'text'
              ? `${reasons.join('\n')}\n`
              : formatOutput('RunbookReasons', { reasons }, output);
          emit({ stdout: list, stderr: '', exitCode: 0 }, context);
          return;
        }
        const isReason = reasonOf(subject) !== undefined || (/[A-Z]/.test(subject) && !subject.includes('/'));
        const page = isReason
          ? pageOf(subject)
          : await withConnection(flags, context, ({ access, client }) =>
              pageFor(client, {
                namespace: flags.namespace ?? access.namespace,
                name: nameIn(subject, 'Canary'),
              }),
            );
        const stdout = output === 'text' ? page.text : formatOutput('Runbook', page, output);
        emit({ stdout, stderr: '', exitCode: 0 }, context);
      });
  },
};

/** The runbook of a Canary as it is now, with its names. Throws ApiError and InputError. */
export async function pageFor(
  client: Pick<RequestClient, 'get'>,
  place: { readonly namespace: string; readonly name: string },
): Promise<{ readonly reason: string; readonly canary: string; readonly text: string }> {
  const status = canaryStatus(await readOne(client, 'Canary', place));
  const reason = conditionOf(status, 'Ready')?.reason ?? 'none yet';
  const canary = `${place.namespace}/${place.name}`;
  if (reasonOf(reason) === undefined)
    throw new InputError(`Canary ${canary}: its reason ${printable(reason)} needs no action`);
  const { text } = pageOf(reason);
  // What is under way is what it is about; an older release may have been rejected before.
  const commit = status.run?.commit ?? status.rejected?.at(-1)?.commit;
  return { reason, canary, text: filledIn(text, { ...place, commit }) };
}

function reasonOf(word: string): string | undefined {
  return Object.keys(pages).find((name) => name.toLowerCase() === word.toLowerCase());
}

/** Throws InputError for a reason without a runbook. */
function pageOf(reason: string): { readonly reason: string; readonly text: string } {
  const known = reasonOf(reason);
  if (known) return { reason: known, text: (pages[known] ?? []).join('\n') };
  throw new InputError(
    `${printable(reason)}: there is no runbook for this reason; holdfast runbook lists those that have one`,
  );
}

/** The names of the page's example are web, shop and COMMIT. */
export function filledIn(
  page: string,
  { namespace, name, commit }: { namespace: string; name: string; commit: string | undefined },
): string {
  const intro = /^In the commands, replace .*\n(.*\n)?\n/m;
  const commands = page.replace(intro, '').replace(/^```sh\n[\s\S]*?^```/gm, (block) => {
    const named = block
      .replaceAll('canary/web', `canary/${name}`)
      .replace(/\bweb-primary\b/g, `${name}-primary`)
      .replaceAll('-n shop', `-n ${namespace}`);
    return commit && /^[0-9a-f]{40,64}$/.test(commit) ? named.replace(/\bCOMMIT\b/g, commit) : named;
  });
  return commands;
}
