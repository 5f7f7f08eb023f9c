/** Why an encrypted file is not opened. The message never holds a value; `offset`, in characters, is 0 when the file as a whole is meant. */
export class SopsFault extends Error {
  readonly offset: number;
  constructor(message: string, offset = 0) {
    super(message);
    this.name = 'SopsFault';
    this.offset = offset;
  }
}
