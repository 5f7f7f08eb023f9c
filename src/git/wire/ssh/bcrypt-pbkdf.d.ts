declare module 'bcrypt-pbkdf' {
  /** One round of bcrypt over two digests of SHA-512; writes 32 bytes to `out`. */
  export function hash(password: Uint8Array, salt: Uint8Array, out: Uint8Array): void;
}
