import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpError } from './errors.ts';

/** What a body is read for, for messages. */
interface Reading {
  readonly method: string;
  readonly host: string;
  readonly maxBytes: number;
}

/** The content of an answer, unpacked by its content-encoding. Throws HttpError InvalidBody for an unknown one. */
export function decoded(body: Readable, encoding: string | undefined, reading: Reading): Readable {
  const unpack = decoder(encoding?.trim().toLowerCase() ?? '', reading);
  if (!unpack) return body;
  body.on('error', (error) => unpack.destroy(error));
  unpack.on('close', () => body.destroy());
  return body.pipe(unpack);
}

function decoder(encoding: string, { method, host }: Reading) {
  if (encoding === '' || encoding === 'identity') return undefined;
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'deflate') return createInflate();
  if (encoding === 'br') return createBrotliDecompress();
  throw new HttpError(
    'InvalidBody',
    host,
    `${method} ${host}: content-encoding "${encoding}" is not supported`,
  );
}

/**
 * Passes the bytes on until more than `maxBytes` came (counted after unpacking, so that a
 * gzip bomb counts at its full size). Throws HttpError TooLarge then.
 */
export async function* capped(
  body: Readable,
  reading: Reading,
  alive: () => void,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of body) {
    alive();
    total += chunk.length;
    if (total > reading.maxBytes) {
      const { method, host, maxBytes } = reading;
      throw new HttpError('TooLarge', host, `${method} ${host}: the answer is larger than ${maxBytes} bytes`);
    }
    yield chunk;
  }
}
