import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Connection } from '../../server/connection.ts';
import {
  type CommandResult,
  type DataFormat,
  formatOutput,
  formatTable,
  paint,
  printable,
  printed,
  type Screen,
  screenOf,
  type TableColumn,
  type Tone,
} from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { outputOption, type SubjectFlags, withSubjectFlags } from '../flags.ts';
import { noneFound } from '../objects.ts';
import { readSubjects } from './subjects.ts';
import { canaryTree, type ObjectTree, sourceTree, type TreeNode } from './tree-nodes.ts';

interface TreeFlags extends SubjectFlags {
  readonly output: 'text' | DataFormat;
}

/** `holdfast tree`: what a Source applies, and what belongs to a Canary, with health, owner and drift. */
export const treeCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .description(
          'show the objects that a Source applies and those that belong to a Canary, with their health, who else writes them, and drift that Holdfast reported',
        )
        .argument(
          '[subject]',
          'source/NAME or canary/NAME; NAME alone is a Canary (default: every Source of the namespace)',
        ),
    )
      .addOption(outputOption())
      .action(async (subject: string | undefined, flags: TreeFlags) => {
        const result = await withConnection(flags, context, async (connection) => {
          const objects = await readSubjects(connection, subject, flags, ['Source']);
          if (objects.length === 0 && flags.output === 'text')
            return { ...printed(''), stderr: noneFound('Sources', flags) };
          return trees(connection, objects, {
            format: flags.output,
            screen: screenOf(process.stdout, process.env),
          });
        });
        emit(result, context);
      });
  },
};

/** How trees are printed. */
interface TreeOptions {
  readonly format: TreeFlags['output'];
  readonly screen: Screen;
}

/** The trees of Sources and Canaries. Throws ApiError. */
async function trees(
  { client }: Pick<Connection, 'client'>,
  objects: readonly KubernetesObject[],
  { format, screen }: TreeOptions,
): Promise<CommandResult> {
  const found: ObjectTree[] = [];
  for (const object of objects)
    found.push(await (object.kind === 'Source' ? sourceTree(client, object) : canaryTree(client, object)));
  if (format !== 'text') {
    const data = found.map(({ root, unread }) => ({ ...root, unread }));
    return printed(formatOutput('Trees', { trees: data }, format));
  }
  const blocks = found.map(({ root }) =>
    formatTable(columns, rowsOf(root, screen), screen, false).join('\n'),
  );
  const unread = found.flatMap((tree) => tree.unread).map((line) => `not shown: ${printable(line)}\n`);
  return { ...printed(`${blocks.join('\n\n')}\n`), stderr: paint(screen, 'busy', unread.join('')) };
}

interface Row {
  readonly node: TreeNode;
  /** Lines that lead to it. */
  readonly lead: string;
}

const columns: ReadonlyArray<TableColumn<Row>> = [
  {
    title: 'OBJECT',
    value: ({ node: { kind, namespace, name }, lead }) =>
      `${lead}${kind} ${namespace ? `${namespace}/` : ''}${name}`,
  },
  { title: 'HEALTH', value: ({ node }) => node.health, tone: ({ node }) => tones[node.health] },
  { title: 'ROLE', value: ({ node }) => node.role ?? '' },
  { title: 'ALSO WRITTEN BY', value: ({ node }) => node.owner, least: 15 },
  {
    title: 'DETAIL',
    value: ({ node: { detail, drift } }) =>
      [detail, drift && !detail.includes(drift) ? `changed: ${drift}` : ''].filter(Boolean).join('; '),
    least: 20,
  },
];

const tones: Readonly<Record<TreeNode['health'], Tone>> = {
  healthy: 'good',
  progressing: 'busy',
  failed: 'bad',
  missing: 'bad',
  unknown: 'quiet',
};

function rowsOf(root: TreeNode, { isAscii }: Screen): Row[] {
  const [branch, last, line] = isAscii ? ['|- ', '`- ', '|  '] : ['├─ ', '└─ ', '│  '];
  const below = ({ children }: TreeNode, lead: string): Row[] =>
    children.flatMap((node, index) => {
      const isLast = index === children.length - 1;
      return [
        { node, lead: lead + (isLast ? last : branch) },
        ...below(node, lead + (isLast ? '   ' : line)),
      ];
    });
  return [{ node: root, lead: '' }, ...below(root, '')];
}
