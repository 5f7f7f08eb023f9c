/** What a receiver of alerts has to offer, and what it gets. */
import type { AlertProviderType } from '../api/alert-provider.ts';
import type { Incident } from '../api/incident.ts';

/** One piece of news for one receiver. */
export interface Notice {
  readonly incident: Incident;
  /** What it is about. */
  readonly kind: 'Canary' | 'Source';
  readonly name: string;
  readonly namespace: string;
  /** Which cluster it is; undefined: it has no name. */
  readonly cluster?: string | undefined;
  /** Root of the pages that runbooks are linked to, with a slash at the end; undefined: the path alone is shown. */
  readonly documentation: string | undefined;
}

/** Where it goes: the AlertProvider with its Secret's values filled in. */
export interface Receiver {
  readonly address: string;
  readonly token: string | undefined;
  readonly channel: string;
  readonly username: string;
}

/** One request, before it is sent. */
export interface AlertRequest {
  readonly url: string;
  readonly json: unknown;
  /** The receiver's token, where this kind takes one. */
  readonly bearer?: string | undefined;
}

/** One kind of receiver: a pure builder. */
export interface AlertReceiver {
  readonly type: AlertProviderType;
  /** Undefined for news that this kind has no use for. */
  build(notice: Notice, receiver: Receiver): AlertRequest | undefined;
  /** Why an answer with a status of success is a refusal all the same; at most a code word of the receiver. */
  refusal?(body: string): string | undefined;
}
