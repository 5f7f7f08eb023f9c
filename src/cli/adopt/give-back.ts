import type { KubernetesObject } from '../../api/kubernetes.ts';
import { referenceOf } from '../../api/kubernetes.ts';
import type { Connection } from '../../app/connection.ts';
import { InputError } from '../../app/options.ts';
import { keyOf } from '../../engine/canary/checks.ts';
import { paint, printable, type Screen, wrap } from '../output.ts';
import { type HandBack, judgeHandBack } from './hand-back.ts';
import type { Seen } from './look.ts';

/** What `holdfast adopt --to flagger` did, or would do, with one Canary. */
export interface HandBackRow extends HandBack {
  /** `namespace/name`. */
  readonly canary: string;
}

const leaseSecondsUnlessSaid = 15;
/** Flagger takes it from here: it reads the target, takes that for promoted, and says Initialized (flagger-behaviour 2.2, 14). */
const initializing = {
  phase: 'Initializing',
  ...{ canaryWeight: 0, failedChecks: 0, iterations: 0 },
  ...{ lastAppliedSpec: null, lastPromotedSpec: null },
};

/** Throws InputError while Holdfast or Flagger acts: whoever does would take the status for its own. */
export async function mustBeStill(
  { client }: Pick<Connection, 'client'>,
  ownNamespace: string,
  seen: readonly Seen[],
  nowMs: number,
): Promise<void> {
  const reference = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace: ownNamespace,
    name: 'holdfast',
  };
  const lease = await client.get(reference);
  if (lease && isHeld(lease, nowMs))
    throw new InputError(`Holdfast runs: Lease ${ownNamespace}/holdfast is held; scale it to zero first`);
  const who = seen.find(({ foreignController }) => foreignController !== undefined)?.foreignController;
  if (who !== undefined)
    throw new InputError(`${who}; scale Flagger to zero, run this again, and then let Flagger run`);
}

function isHeld({ spec }: KubernetesObject, nowMs: number): boolean {
  const {
    holderIdentity = '',
    renewTime = '',
    leaseDurationSeconds = leaseSecondsUnlessSaid,
  } = (spec ?? {}) as { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
  return holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1000 > nowMs;
}

/** Judges each Canary and, unless it is only asked what would be done, writes the status that Flagger begins from. Throws ApiError. */
export async function giveBack(
  { client }: Pick<Connection, 'client'>,
  seen: readonly Seen[],
  isDryRun: boolean,
): Promise<HandBackRow[]> {
  const rows: HandBackRow[] = [];
  for (const { object, found } of seen) {
    const judged: HandBack =
      'refusal' in found ? { outcome: 'refused', why: found.refusal } : judgeHandBack(found.world);
    rows.push({ canary: keyOf(object), ...judged });
    if (isDryRun || judged.outcome !== 'handedBack') continue;
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion }, status: initializing };
    await client.patch(referenceOf(object), patch, {
      type: 'merge',
      manager: 'holdfast',
      subresource: 'status',
    });
  }
  return rows;
}

/** What was done for people; lines without line feeds. */
export function handBackLines(rows: readonly HandBackRow[], isDryRun: boolean, screen: Screen): string[] {
  const words = {
    handedBack: paint(screen, 'good', isDryRun ? 'would be handed back' : 'handed back'),
    notOurs: paint(screen, 'quiet', "Flagger's already"),
    refused: paint(screen, 'bad', 'refused'),
  };
  const lines = rows.flatMap(({ canary, outcome, why }) => [
    `${printable(canary)}: ${words[outcome]}`,
    ...wrap(why, screen.columns, '    '),
  ]);
  return rows.length > 0 ? lines : ['There is no Canary here.'];
}
