import { canaryStatus, conditionOf } from '../api/canary/summary.ts';
import { InputError } from '../api/problems.ts';
import { type DataFormat, printable } from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { type ClusterFlags, outputOption } from './flags.ts';
import { nameIn, readOne, withPlace } from './requests/request.ts';
import runbooks from './runbooks.json' with { type: 'json' };

/** docs/runbooks by reason, so that a runbook can be read wherever the program is. */
const pages: Readonly<Record<string, string>> = runbooks;

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
        .argument('[subject]', 'canary/NAME, or a reason (default: list the reasons)'),
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
        const page = subject.includes('/')
          ? await withConnection(flags, context, async ({ access, client }) => {
              const place = {
                namespace: flags.namespace ?? access.namespace,
                name: nameIn(subject, 'Canary'),
              };
              const status = canaryStatus(await readOne(client, 'Canary', place));
              const reason = conditionOf(status, 'Ready')?.reason ?? '';
              const commit = status.rejected?.at(-1)?.commit ?? status.run?.commit;
              const found = pageOf(reason);
              const canary = `${place.namespace}/${place.name}`;
              return { reason: found.reason, canary, text: filledIn(found.text, { ...place, commit }) };
            })
          : pageOf(subject);
        const stdout = output === 'text' ? page.text : formatOutput('Runbook', page, output);
        emit({ stdout, stderr: '', exitCode: 0 }, context);
      });
  },
};

/** Throws InputError for a reason without a runbook. */
function pageOf(reason: string): { readonly reason: string; readonly text: string } {
  const known = Object.keys(pages).find((name) => name.toLowerCase() === reason.toLowerCase());
  if (known) return { reason: known, text: pages[known] ?? '' };
  throw new InputError(
    `${printable(reason) || 'the Canary'}: no runbook, so nothing has to be done; holdfast runbook lists the reasons that have one`,
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
