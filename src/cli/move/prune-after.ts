/** On what is moved, while it is moved: whether pruning is turned on at the end. */
export const pruneAfterAnnotation = 'holdfast.dev/prune-after-move';
