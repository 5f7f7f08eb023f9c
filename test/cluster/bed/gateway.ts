/** The Gateway that every HTTPRoute of a test attaches to. */
export const gateway = { name: 'bed', namespace: 'projectcontour' } as const;
