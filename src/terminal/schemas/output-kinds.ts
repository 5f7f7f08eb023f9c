/** The kinds of output that commands have for programs: -o json, and -o yaml where a command has it. docs/output.md lists them. */
import { type DataFormat, formatData } from '../output.ts';
import type { OutputBody, OutputKind } from './output-schemas.ts';

/**
 * Kinds whose version is not v1. Within a version fields are added, and never renamed, taken away, made optional or given another type; words are
 * added to lists of words. What is not so gets the next version.
 */
const laterVersions: { readonly [Kind in OutputKind]?: string } = {};

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

/** What every document of a kind begins with. */
export function headOf(kind: OutputKind): { readonly apiVersion: string; readonly kind: OutputKind } {
  return { apiVersion: `holdfast.dev/${versionOf(kind)}`, kind };
}

/** The version of a kind, as `v1`. */
export function versionOf(kind: OutputKind): string {
  return laterVersions[kind] ?? 'v1';
}
