/** The kinds of output that commands have for programs: -o json, and -o yaml where a command has it. docs/output.md lists them. */
import * as z from 'zod';
import { type DataFormat, formatData } from '../output.ts';
import * as canaries from './canaries.ts';
import * as cluster from './cluster.ts';
import * as events from './events.ts';
import * as repository from './repository.ts';
import * as requests from './requests.ts';
import * as trees from './trees.ts';

/**
 * Within a version fields are added, and never renamed, taken away, made optional or given another type; words are added to lists of words. What
 * is not so gets the next version.
 */
const kinds = {
  AdoptionPlan: { version: 'v1', schema: cluster.adoptionPlan },
  CanaryDifference: { version: 'v1', schema: canaries.canaryDifference },
  Check: { version: 'v1', schema: cluster.check },
  DeletedObject: { version: 'v1', schema: events.deletedObject },
  DemoEvent: { version: 'v1', schema: events.demoEvent },
  Drill: { version: 'v1', schema: canaries.drill },
  Error: { version: 'v1', schema: cluster.failure },
  Explanation: { version: 'v1', schema: canaries.explanation },
  Freeze: { version: 'v1', schema: requests.freeze },
  FreezesLifted: { version: 'v1', schema: requests.freezesLifted },
  Gates: { version: 'v1', schema: requests.gates },
  HandBack: { version: 'v1', schema: cluster.handBack },
  History: { version: 'v1', schema: canaries.history },
  LogLine: { version: 'v1', schema: events.logLine },
  MoveSteps: { version: 'v1', schema: cluster.moveSteps },
  Pause: { version: 'v1', schema: requests.pause },
  Plan: { version: 'v1', schema: repository.plan },
  ReportedEvent: { version: 'v1', schema: events.reportedEvent },
  ReportedEvents: { version: 'v1', schema: events.reportedEvents },
  RequestResult: { version: 'v1', schema: requests.requestResult },
  Runbook: { version: 'v1', schema: canaries.runbook },
  RunbookReasons: { version: 'v1', schema: canaries.runbookReasons },
  SourceDifference: { version: 'v1', schema: canaries.sourceDifference },
  Suspension: { version: 'v1', schema: requests.suspension },
  SyncResult: { version: 'v1', schema: requests.syncResult },
  Trees: { version: 'v1', schema: trees.trees },
  Validation: { version: 'v1', schema: repository.validation },
  Version: { version: 'v1', schema: cluster.version },
  WaitResult: { version: 'v1', schema: requests.waitResult },
  WatchEvent: { version: 'v1', schema: events.watchEvent },
} as const;

/** Name of a kind of output. */
export type OutputKind = keyof typeof kinds;

/** All of them, in the order of the alphabet. */
export const outputKinds = Object.keys(kinds) as OutputKind[];

type ReadonlyDeep<T> = T extends object ? { readonly [Field in keyof T]: ReadonlyDeep<T[Field]> } : T;

/** What a kind of output says, without apiVersion and kind. */
export type OutputBody<Kind extends OutputKind> = ReadonlyDeep<z.infer<(typeof kinds)[Kind]['schema']>>;

/** What a release under way changes against the last known good one; `diff`, `explain` and `status` show it. */
export type ReleaseChanges = NonNullable<OutputBody<'CanaryDifference'>['underWay']>;

/** What a command has to say as one document for programs; ends with a line feed. */
export function formatOutput<Kind extends OutputKind>(
  kind: Kind,
  body: OutputBody<Kind>,
  format: DataFormat,
): string {
  return formatData({ ...headOf(kind), ...body }, format);
}

/** The same as JSON in one line, for commands that print one after the other. */
export function formatOutputLine<Kind extends OutputKind>(kind: Kind, body: OutputBody<Kind>): string {
  return `${JSON.stringify({ ...headOf(kind), ...body })}\n`;
}

function headOf(kind: OutputKind): { readonly apiVersion: string; readonly kind: OutputKind } {
  return { apiVersion: `holdfast.dev/${kinds[kind].version}`, kind };
}

/** The schema of a whole document of this kind, to check one with. */
export function documentSchemaOf(kind: OutputKind): z.ZodType {
  const { apiVersion } = headOf(kind);
  const head = z.object({
    apiVersion: z.literal(apiVersion).describe('Version of this schema.'),
    kind: z.literal(kind).describe('Kind of output.'),
  });
  const { schema } = kinds[kind];
  return schema instanceof z.ZodObject ? z.object({ ...head.shape, ...schema.shape }) : schema.and(head);
}

/** The version of a kind, as `v1`. */
export function versionOf(kind: OutputKind): string {
  return kinds[kind].version;
}
