import type { BuiltInGate } from '../api/gates.ts';

/** A Canary by name. */
export interface CanaryName {
  readonly namespace: string;
  readonly name: string;
}

/** Who sent a token, and whether that one may switch a gate. */
export type GatePermission =
  | { readonly kind: 'allowed'; readonly user: string }
  /** Nobody known, or a token that is not meant for Holdfast. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'forbidden'; readonly user: string }
  /** The API server was not asked, or did not answer. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** The gates in the cluster. */
export interface GateKeeper {
  /** An open gate is read back from the API server first. A Canary that is not there has none. Throws when it cannot be known. */
  isOpen(canary: CanaryName, gate: BuiltInGate): Promise<boolean>;
  /** Asks the API server who sent the token. */
  permission(token: string, canary: CanaryName, gate: BuiltInGate): Promise<GatePermission>;
  /** False when there is no such Canary. Throws what the API server says. */
  set(canary: CanaryName, gate: BuiltInGate, change: { open: boolean; user: string }): Promise<boolean>;
}
