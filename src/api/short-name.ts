/** Names that fit where Kubernetes allows fewer characters. */
import { createHash } from 'node:crypto';

const mostLabelCharacters = 63;

/**
 * A label value for a name: the name itself up to 63 characters, else its start and a hash of the whole. A name of an object is a DNS
 * subdomain, so every shortened form is a valid label value, too.
 */
export function labelValue(name: string): string {
  return shortName(name, mostLabelCharacters);
}

/** A DNS name of at most `maxLength` characters, equal for equal names and different for different ones. */
export function shortName(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name;
  const hash = shortHash(name);
  return `${name.slice(0, maxLength - hash.length - 1).replace(/[-.]+$/, '')}-${hash}`;
}

/** Hex digits that stand for the text in names. */
export function shortHash(text: string, digits = 10): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
