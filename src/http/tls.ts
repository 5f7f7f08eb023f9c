import { DEFAULT_CIPHERS } from 'node:tls';

/** No suite in which the server makes up the group that keys are computed with: one of 10,000 bits stops the whole program for a second and more. */
export const ciphers = `${DEFAULT_CIPHERS}:!DHE`;
