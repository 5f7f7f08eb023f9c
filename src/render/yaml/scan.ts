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

/** What was read, or what is wrong with the first document that cannot be read. */
type Scanned<T> =
  | { readonly ok: true; readonly documents: T }
  | { readonly ok: false; readonly problem: FileProblem };

/** Reads any file as YAML within the limits. YAML bombs are refused here, before another program reads the file (docs/hostile-repositories.md). */
export function scanFile(
  file: { path: string; bytes: Uint8Array },
  limits: RenderLimits,
  options: ReadingOptions = {},
): Scanned<readonly ScannedDocument[]> {
  return scanEach(file, limits, (documents) => [...documents], options);
}

/** The same, for `work` that takes one document after the other, so that the syntax trees of all of them are never held at once. */
export function scanEach<T>(
  file: { path: string; bytes: Uint8Array },
  limits: RenderLimits,
  work: (documents: Iterable<ScannedDocument>) => T,
  options: ReadingOptions = {},
): Scanned<T> {
  const fault = (line: number, message: string): Scanned<T> => ({
    ok: false,
    problem: { file: file.path, line, message },
  });
  if (file.bytes.length > limits.fileBytes)
    return fault(0, `has ${file.bytes.length} bytes; at most ${limits.fileBytes} are read; split the file`);
  const decoded = decodeText(file.bytes);
  if (decoded.problem !== undefined) return fault(decoded.line, decoded.problem);
  const { text } = decoded;
  const lineAt = lineFinder(text);
  function* documents(): Generator<ScannedDocument> {
    let index = 0;
    for (const document of readDocuments(text, limits)) {
      const value = documentValue(document, text, limits, options);
      const lineOf = (field: string) => lineAt(offsetOf(document.contents, pathSteps(field)));
      if (value !== undefined) yield { value, lineOf, index };
      index += 1;
    }
  }
  try {
    return { ok: true, documents: work(documents()) };
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return fault(lineAt(error.offset), error.message);
  }
}
