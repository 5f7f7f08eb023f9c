import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../../api/kubernetes.ts';

/** What `live` is with that which `to` changes of `from`. A list that has other elements besides, as ports of others, stays as it is. */
export function withChange(live: unknown, from: unknown, to: unknown): unknown {
  if (isDeepStrictEqual(from, to)) return live;
  if (isRecord(live) && isRecord(from) && isRecord(to)) {
    const stays = Object.entries(live).filter(([key]) => key in to || !(key in from));
    const changed = Object.keys(to).map((key) => [key, withChange(live[key], from[key], to[key])] as const);
    return Object.fromEntries([...stays, ...changed.filter(([, value]) => value !== undefined)]);
  }
  if (!Array.isArray(live) || !Array.isArray(from) || !Array.isArray(to)) return to;
  if (live.length !== from.length) return live;
  return from.length === to.length ? to.map((one, index) => withChange(live[index], from[index], one)) : to;
}
