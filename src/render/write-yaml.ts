import { Document, type Scalar, visit } from 'yaml';
import { readPlain } from './scalar.ts';

/** YAML that Kubernetes reads as the same value: what it would take for a number, a truth or nothing (`on`, `0o17`) is quoted. Ends with a line feed. */
export function writeYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, scalar: Scalar) => {
      const { value: text } = scalar;
      if (typeof text === 'string' && readPlain(text).value !== text) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 });
}
