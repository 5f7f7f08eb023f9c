/** Texts of the documents that a program printed one after the other. */
export function splitDocuments(output: string): string[] {
  return output.split(/^---\n/m).filter((text) => text.trim() !== '');
}
