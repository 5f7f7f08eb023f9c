import { parseSource } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import { readCanaryDifference, readSourceDifference } from '../../review/diff/read-difference.ts';
import type { WorldQuery } from '../../review/read-canary.ts';
import type { Connection } from '../../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatOutput,
  type Screen,
  screenOf,
} from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import {
  type ControllerFlags,
  sourcesOfCluster,
  withControllerFlags,
  withFlagsOfController,
} from '../controller-flags.ts';
import {
  holdfastNamespaceOption,
  outputOption,
  type ProgramFlags,
  parseSubject,
  programsIn,
  type SubjectFlags,
  withProgramFlags,
  withSubjectFlags,
} from '../flags.ts';
import { readOne } from '../objects.ts';
import { forTargets } from '../requests/request.ts';
import { releaseChangeLines } from '../status/release-changes.ts';
import { canaryDifferenceLines, sourceDifferenceLines } from './difference-text.ts';
import { withGit } from './git-reading.ts';

interface DiffFlags extends ProgramFlags, SubjectFlags, Partial<ControllerFlags> {
  readonly holdfastNamespace: string;
  readonly output: DiffOptions['format'];
}

/** `holdfast diff`: what is not as the release, or the Source, says. Writes nothing. */
export const diffCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .description(
          'compare a Canary with the release that its primary must run, and show what a release under way changes; or compare a Source with the objects that it applies. Exit code 1 if something differs, 2 on errors',
        )
        .argument(
          '[subject]',
          'canary/NAME or source/NAME; NAME alone is a Canary; with -l canary (the default) or source',
        ),
    ).addOption(holdfastNamespaceOption('--holdfast-namespace'));
    withControllerFlags(command, controllerFlagNames).addOption(
      outputOption('table', ['table', 'json', 'yaml']),
    );
    withProgramFlags(command).action(async (text: string | undefined, flags: DiffFlags) => {
      const { kind = 'Canary', name } = parseSubject(text, flags.selector);
      const { version } = context;
      const output = flags.output === 'table' ? 'text' : flags.output;
      const asked = { subject: name, flags: { ...flags, output } } as const;
      const result = await withConnection(flags, context, async (connection) => {
        if (kind === 'Source')
          return forTargets(connection, kind, asked, (target) =>
            ofSource(connection, { ...target, flags, version }),
          );
        const query = { namespace: flags.holdfastNamespace, names: controllerFlagNames, given: flags };
        return withFlagsOfController(connection, query, (found) => {
          const options = controllerOptions(found);
          return forTargets(connection, kind, asked, (target) =>
            diffCanary(connection, { ...target, options }, shownAs(flags)),
          );
        });
      });
      emit(result, context);
    });
  },
};

interface Asked {
  readonly name: string;
  readonly namespace: string;
  readonly flags: DiffFlags;
  readonly version: string;
}

const controllerFlagNames = [
  'mesh-provider',
  'selector-labels',
  'include-label-prefix',
  'ingress-annotations-prefix',
] as const;

/** How the controller looks at Canaries. */
function controllerOptions(found: ControllerFlags): WorldQuery['options'] {
  return {
    minIntervalMs: 0,
    defaultProvider: found.meshProvider,
    selectorLabels: found.selectorLabels,
    includeLabelPrefixes: found.includeLabelPrefix,
    routes: { ingressAnnotationsPrefix: found.ingressAnnotationsPrefix },
  };
}

async function ofSource(
  connection: Connection,
  { name, namespace, flags, version }: Asked,
): Promise<CommandResult> {
  const source = sourceIn(await readOne(connection.client, 'Source', { namespace, name }));
  const listSources = sourcesOfCluster(connection, flags.holdfastNamespace);
  const programs = programsIn(flags, process.env);
  const difference = await withGit(connection, { version, programs }, (reading) =>
    readSourceDifference(connection, source, { ...reading, listSources }),
  );
  const { format, screen } = shownAs(flags);
  const stdout =
    format === 'table'
      ? `${sourceDifferenceLines(difference, screen).join('\n')}\n`
      : formatOutput('SourceDifference', difference, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}

/** A Source that applies objects. Throws InputError for any other. */
function sourceIn(object: KubernetesObject): Source {
  const parsed = parseSource(object);
  if (!parsed.ok)
    throw new InputError(
      `${describe(object)}: ${parsed.problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
    );
  if (parsed.value.spec.apply === false)
    throw new InputError(`${describe(object)}: spec.apply is false, so another tool applies its objects`);
  return parsed.value;
}

function shownAs({ output }: DiffFlags): DiffOptions {
  return { format: output, screen: screenOf(process.stdout, process.env) };
}

/** How a difference is printed. */
interface DiffOptions {
  readonly format: 'table' | DataFormat;
  readonly screen: Screen;
}

/** Compares one Canary; exit code 1 when something differs. Throws ApiError, InputError and EngineError. */
async function diffCanary(
  connection: Connection,
  query: WorldQuery,
  { format, screen }: DiffOptions,
): Promise<CommandResult> {
  const { underWay, ...difference } = await readCanaryDifference(connection, query);
  const stdout =
    format === 'table'
      ? `${[
          ...canaryDifferenceLines(difference, screen),
          ...(underWay ? ['', ...releaseChangeLines(underWay, screen)] : []),
        ].join('\n')}\n`
      : formatOutput('CanaryDifference', { ...difference, underWay }, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}
