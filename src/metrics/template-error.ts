/** A query template that cannot be rendered; its author must act. The message names the position. */
export class TemplateError extends Error {
  /** Where in the template, from 1; undefined for errors that have no place in it. */
  readonly position: { line: number; column: number } | undefined;

  constructor(message: string, position?: { line: number; column: number }) {
    super(position ? `line ${position.line}, column ${position.column}: ${message}` : message);
    this.name = 'TemplateError';
    this.position = position;
  }
}
