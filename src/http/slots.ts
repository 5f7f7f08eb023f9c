import type { Slots } from '../api/slots.ts';

/** The slots that every outbound connection takes. */
export interface SlotTable {
  /** By tenant and host. */
  readonly hostSlots: Slots;
  /** By tenant. */
  readonly tenantSlots: Slots;
}

/** A slot of the host and one of the tenant, given back together. Waits at a host that hangs hold none of the tenant's slots for others. */
export async function acquireSlots(
  { hostSlots, tenantSlots }: SlotTable,
  tenant: string | undefined,
  host: string,
  signal: AbortSignal,
): Promise<() => void> {
  const releaseHost = await hostSlots.acquire(`${tenant ?? ''} ${host}`, signal);
  if (tenant === undefined) return releaseHost;
  try {
    const releaseTenant = await tenantSlots.acquire(tenant, signal);
    return () => {
      releaseTenant();
      releaseHost();
    };
  } catch (error) {
    releaseHost();
    throw error;
  }
}
