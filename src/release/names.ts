/** Label of the Secrets Holdfast keeps its memory in: the canary they belong to. */
export const labelCanary = 'holdfast.dev/canary';
/** What a Secret holds: `release` or `rejections`. */
export const labelRecord = 'holdfast.dev/record';
