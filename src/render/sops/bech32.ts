const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const checksumLength = 6;

/** Bytes of a Bech32 text (BIP 173) with this human-readable part, whatever its case; undefined when it is no such text. */
export function fromBech32(text: string, humanPart: string): Buffer | undefined {
  const lower = text.toLowerCase();
  const isOneCase = text === lower || text === text.toUpperCase();
  const prefix = `${humanPart.toLowerCase()}1`;
  if (!isOneCase || !lower.startsWith(prefix)) return undefined;
  const values = [...lower.slice(prefix.length)].map((character) => alphabet.indexOf(character));
  if (values.includes(-1) || values.length < checksumLength) return undefined;
  if (checksum([...expanded(prefix.slice(0, -1)), ...values]) !== 1) return undefined;
  return bytesOf(values.slice(0, -checksumLength));
}

function expanded(humanPart: string): number[] {
  const codes = [...Buffer.from(humanPart, 'ascii')];
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
}

function checksum(values: readonly number[]): number {
  return values.reduce((sum, value) => {
    const top = sum >>> 25;
    const next = ((sum & 0x1ffffff) << 5) ^ value;
    return generators.reduce((mixed, generator, bit) => ((top >> bit) & 1 ? mixed ^ generator : mixed), next);
  }, 1);
}

/** Groups of five bits as bytes; undefined when bits are left over that are not zero. */
function bytesOf(values: readonly number[]): Buffer | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const value of values) {
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  return bits < 5 && (held & ((1 << bits) - 1)) === 0 ? Buffer.from(bytes) : undefined;
}
