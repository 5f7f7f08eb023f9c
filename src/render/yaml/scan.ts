import { isRecord } from '../../api/kubernetes.ts';
import type { FileProblem, RenderLimits } from '../rendered-object.ts';
import { decodeText, lineFinder, readDocuments, YamlFault } from './documents.ts';
import { documentValue, offsetOf, pathSteps, type ReadingOptions } from './values.ts';

/** One document of a file that need not hold whole objects: a patch, values, a kustomization. */
export interface ScannedDocument {
  readonly value: unknown;
  /** Line of a field, or of the deepest one on the way that is there. */
  readonly lineOf: (field: string) => number;
  /** Position in the file, from 0; empty documents count. */
  readonly index: number;
}

/** Documents, or what is wrong with the first one that cannot be read. */
type Scanned =
  | { readonly ok: true; readonly documents: readonly ScannedDocument[] }
  | { readonly ok: false; readonly problem: FileProblem };

/** Reads any file as YAML within the limits. YAML bombs are refused here, before another program reads the file (docs/hostile-repositories.md). */
export function scanFile(
  file: { path: string; bytes: Uint8Array },
  limits: RenderLimits,
  options: ReadingOptions = {},
): Scanned {
  const fault = (line: number, message: string): Scanned => ({
    ok: false,
    problem: { file: file.path, line, message },
  });
  if (file.bytes.length > limits.fileBytes)
    return fault(0, `has ${file.bytes.length} bytes; at most ${limits.fileBytes} are read; split the file`);
  const decoded = decodeText(file.bytes);
  if (decoded.problem !== undefined) return fault(decoded.line, decoded.problem);
  const { text } = decoded;
  const lineAt = lineFinder(text);
  try {
    const documents = [...readDocuments(text, limits)].map((document, index) => ({
      value: documentValue(document, text, limits, options),
      lineOf: (field: string) => lineAt(offsetOf(document.contents, pathSteps(field))),
      index,
    }));
    return { ok: true, documents: documents.filter(({ value }) => value !== undefined) };
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return fault(lineAt(error.offset), error.message);
  }
}

/** A mapping, or an empty one in place of anything else. */
export function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** A list, or an empty one in place of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
