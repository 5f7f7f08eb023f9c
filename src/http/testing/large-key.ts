import { createPrivateKey, randomBytes } from 'node:crypto';

/** An RSA key of random numbers, PEM: it signs nothing that anybody could verify, and takes as long as a real one of its size. */
export function largeRsaKey(bits: number, exponentBits = bits): string {
  const number = (size: number) => {
    const bytes = randomBytes(size / 8);
    bytes[0] = (bytes[0] ?? 0) | 0xc0;
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
    return bytes;
  };
  const [p, q] = [number(bits / 2), number(bits / 2)];
  const product = BigInt(`0x${p.toString('hex')}`) * BigInt(`0x${q.toString('hex')}`);
  const numbers = {
    n: Buffer.from(product.toString(16), 'hex'),
    d: number(exponentBits - 8),
    ...{ p, q, dp: number(exponentBits / 2), dq: number(exponentBits / 2), qi: number(bits / 2) },
  };
  const texts = Object.entries(numbers).map(([name, bytes]) => [name, bytes.toString('base64url')]);
  const key = { kty: 'RSA', e: 'AQAB', ...Object.fromEntries(texts) };
  return String(createPrivateKey({ key, format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' }));
}
