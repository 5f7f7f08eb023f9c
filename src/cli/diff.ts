import { InputError } from '../api/problems.ts';
import type { Source } from '../api/source/source.ts';
import type { ListSources } from '../engine/sync/apply/apply-object.ts';
import type { Comparison } from '../health/comparison.ts';
import { createHttpClient } from '../http/client.ts';
import {
  type CanaryDifference,
  canaryDifferenceOf,
  expectedRelease,
} from '../review/diff/canary-difference.ts';
import { readEffectiveSet, readSource, type SourceReading } from '../review/diff/effective-set.ts';
import type { ObjectDifference } from '../review/diff/object-difference.ts';
import { changesUnderWay, type ReleaseChanges } from '../review/diff/release-changes.ts';
import {
  type SourceDifference,
  type SourceObjectDifference,
  sourceDifferenceOf,
} from '../review/diff/source-difference.ts';
import { expectedObjects } from '../review/expected-objects.ts';
import { readCanaryWith, type WorldQuery } from '../review/read-canary.ts';
import type { Connection } from '../server/connection.ts';
import {
  type CommandResult,
  counted,
  type DataFormat,
  formatTable,
  paint,
  printable,
  type Screen,
  screenOf,
  type TableColumn,
  wrap,
} from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, outboundPolicy, withConnection } from './command.ts';
import {
  type ControllerFlags,
  sourcesOfCluster,
  withControllerFlags,
  withFlagsOfController,
} from './controller-flags.ts';
import {
  allNamespacesOption,
  contextOption,
  holdfastNamespaceOption,
  kubeconfigOption,
  namespaceOption,
  outputOption,
  type ProgramFlags,
  parseObjectArgument,
  programsIn,
  type SubjectFlags,
  selectorOption,
  withProgramFlags,
} from './flags.ts';
import { releaseChangeLines } from './release-changes.ts';
import { forTargets } from './requests/request.ts';
import { commitLine } from './status/rows.ts';

interface DiffFlags extends ProgramFlags, SubjectFlags, Partial<ControllerFlags> {
  readonly holdfastNamespace: string;
  readonly output: DiffOptions['format'];
}

/** `holdfast diff`: what is not as the release, or the Source, says. Writes nothing. */
export const diffCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('diff')
      .summary('compare a Canary or a Source with the cluster')
      .description(
        'compare a Canary with the release that its primary must run, and show what a release under way changes; or compare a Source with the objects that it applies. Exit code 1 if something differs, 2 on errors',
      )
      .argument(
        '[subject]',
        'canary/NAME or source/NAME; NAME alone is a Canary; with -l canary (the default) or source',
      )
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .addOption(namespaceOption())
      .addOption(allNamespacesOption())
      .addOption(selectorOption())
      .addOption(holdfastNamespaceOption('--holdfast-namespace'));
    withControllerFlags(command, controllerFlagNames).addOption(
      outputOption('table', ['table', 'json', 'yaml']),
    );
    withProgramFlags(command).action(async (text: string | undefined, flags: DiffFlags) => {
      const isKind = text !== undefined && flags.selector !== undefined;
      const { kind = 'Canary', name } =
        isKind || text?.includes('/') ? parseObjectArgument(text, undefined) : { name: text };
      if (name === '')
        throw new InputError(`${JSON.stringify(text)} is not an object; use canary/NAME or source/NAME`);
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
  ...(['mesh-provider', 'selector-labels', 'include-label-prefix', 'ingress-annotations-prefix'] as const),
];

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
  const userAgent = `holdfast/${version}`;
  const programs = programsIn(flags, process.env);
  const http = createHttpClient({ ...outboundPolicy(connection.access.server), userAgent });
  try {
    const source = await readSource(connection, { namespace, name });
    const listSources = sourcesOfCluster(connection, flags.holdfastNamespace);
    return await diffSource(connection, source, { http, programs, listSources }, shownAs(flags));
  } finally {
    await http.close();
  }
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
  const { underWay, ...difference } = await readDifference(connection, query);
  const stdout =
    format === 'table'
      ? `${[
          ...canaryDifferenceLines(difference, screen),
          ...(underWay ? ['', ...releaseChangeLines(underWay, screen)] : []),
        ].join('\n')}\n`
      : formatOutput('CanaryDifference', { ...difference, underWay }, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}

function readDifference(
  connection: Connection,
  query: WorldQuery,
): Promise<CanaryDifference & { readonly underWay: ReleaseChanges | undefined }> {
  return readCanaryWith(connection, query, async (context) => {
    const { world } = context.observation;
    const release = expectedRelease(world);
    if (!release)
      throw new Error(
        `Canary ${query.namespace}/${query.name}: no release has been promoted yet, so there is nothing to compare with`,
      );
    const objects = await expectedObjects(context, release.digest);
    return { ...canaryDifferenceOf(world, release, objects), underWay: await changesUnderWay(context) };
  });
}

/** Compares one Source with the cluster; exit code 1 when something differs. Throws ApiError, InputError and Git's errors. */
async function diffSource(
  connection: Connection,
  source: Source,
  { listSources, ...reading }: SourceReading & { readonly listSources: ListSources },
  { format, screen }: DiffOptions,
): Promise<CommandResult> {
  const set = await readEffectiveSet(connection, source, reading);
  const difference = await sourceDifferenceOf(connection.client, set, listSources);
  const stdout =
    format === 'table'
      ? `${sourceDifferenceLines(difference, screen).join('\n')}\n`
      : formatOutput('SourceDifference', difference, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}

function sourceDifferenceLines(
  { source, commit, differs, problems, objects }: SourceDifference,
  screen: Screen,
): string[] {
  const what = commitLine(commit.commit, commit.subject);
  const title = `Source ${source}: expected ${what}`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(problems.length > 0 ? ['', ...problems.map((line) => paint(screen, 'bad', printable(line)))] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`no differences in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}

interface FieldRow {
  readonly object: string;
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  readonly by: string;
}

const findingColumns: ReadonlyArray<TableColumn<Comparison>> = [
  { title: 'FINDING', value: ({ name }) => name, tone: () => 'bad' },
  { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
  { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
];

const fieldColumns: ReadonlyArray<TableColumn<FieldRow>> = [
  { title: 'OBJECT', value: ({ object }) => object, tone: () => 'bad' },
  { title: 'FIELD', value: ({ field }) => field, least: 16 },
  { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
  { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
  { title: 'CHANGED BY', value: ({ by }) => by, least: 10 },
];

/** A difference for people; lines without line feeds. */
function canaryDifferenceLines(
  { canary, release, differs, findings, objects }: CanaryDifference,
  screen: Screen,
): string[] {
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15);
  const title = `Canary ${canary}: expected ${what} on the primary`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(findings.length > 0 ? ['', ...formatTable(findingColumns, findings, screen, false)] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`no differences in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}

/** What of these objects differs, a line for each field; empty when nothing does. */
function fieldTable(
  objects: ReadonlyArray<ObjectDifference | SourceObjectDifference>,
  screen: Screen,
): string[] {
  const rows = objects.flatMap(rowsOf);
  return rows.length > 0 ? formatTable(fieldColumns, rows, screen, false) : [];
}

function rowsOf(difference: ObjectDifference | SourceObjectDifference): FieldRow[] {
  const { kind, name, state, fields, changedBy } = difference;
  const namespace = 'namespace' in difference ? `${difference.namespace}/` : '';
  const object = `${kind} ${namespace}${name}`;
  if (state === 'refused') {
    const message = 'message' in difference ? (difference.message ?? '') : '';
    return [{ object, field: '', expected: 'applied', actual: message, by: '' }];
  }
  if (state === 'missing') return [{ object, field: '', expected: 'exists', actual: 'missing', by: '' }];
  return fields.map(({ path, expected, actual }) => ({
    object,
    field: path,
    expected,
    actual: actual ?? '(absent)',
    by: changedBy ?? '',
  }));
}
