import { readDocuments, YamlFault } from './documents.ts';
import { documentPath, objectsOf } from './objects.ts';
import { offsetOf, pathSteps } from './position.ts';
import { decodeText, lineFinder } from './text.ts';
import type { FileProblem, Origin, RenderedObject, RenderLimits, SourceFile } from './types.ts';
import { documentValue } from './values.ts';

/** Problems told of one file; more would hide the first. */
const maxProblems = 50;

/** What one file holds: its objects, or its problems. All or nothing (S24). */
export interface RenderedFile {
  objects: RenderedObject[];
  problems: FileProblem[];
}

/** Reads one file. Depends on its bytes, path and the limits alone, so results may be kept by blob id. Never throws on bad input. */
export function renderFile(file: SourceFile, limits: RenderLimits): RenderedFile {
  if (file.bytes.length > limits.fileBytes) {
    const message = `has ${file.bytes.length} bytes; at most ${limits.fileBytes} are read`;
    return { objects: [], problems: [{ file: file.path, line: 0, message }] };
  }
  const decoded = decodeText(file.bytes);
  if (decoded.problem !== undefined) {
    return { objects: [], problems: [{ file: file.path, line: decoded.line, message: decoded.problem }] };
  }
  const lineOf = lineFinder(decoded.text);
  try {
    const result = readObjects(file.path, decoded.text, lineOf, limits);
    return result.problems.length > 0 ? { objects: [], problems: result.problems } : result;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return {
      objects: [],
      problems: [{ file: file.path, line: lineOf(error.offset), message: error.message }],
    };
  }
}

function readObjects(
  path: string,
  text: string,
  lineOf: (offset: number) => number,
  limits: RenderLimits,
): RenderedFile {
  const objects: RenderedObject[] = [];
  const problems: FileProblem[] = [];
  let index = 0;
  for (const document of readDocuments(text, limits)) {
    const value = documentValue(document, text, limits);
    const found = value === undefined ? { objects: [], problems: [] } : objectsOf(value);
    const lineAt = (field: string) => lineOf(offsetOf(document.contents, pathSteps(field)));
    for (const { object, items } of found.objects) {
      const line = lineAt(documentPath(items, ''));
      objects.push({ object, origin: { file: path, line, document: index, items } });
    }
    for (const { path: field, message } of found.problems.slice(0, maxProblems - problems.length)) {
      problems.push({ file: path, line: lineAt(field), ...(field ? { field } : {}), message });
    }
    index += 1;
  }
  return { objects, problems };
}

/**
 * Line of a field of an object, or of the deepest field on the way to it that the file mentions. Reads the file again: problems are rare,
 * and trees are large. `field`: as messages name it, such as `spec.analysis.metrics[0].name`. Falls back to the object's line.
 */
export function lineOfField(file: SourceFile, origin: Origin, field: string, limits: RenderLimits): number {
  const { text } = decodeText(file.bytes);
  if (text === undefined) return origin.line;
  let index = 0;
  try {
    for (const document of readDocuments(text, limits)) {
      if (index === origin.document) {
        return lineFinder(text)(offsetOf(document.contents, pathSteps(documentPath(origin.items, field))));
      }
      index += 1;
    }
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
  }
  return origin.line;
}
