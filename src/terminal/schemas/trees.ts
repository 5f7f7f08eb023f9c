/** What `holdfast tree` says. */
import * as z from 'zod';

const node = {
  apiVersion: z.string().describe('apiVersion of the object.'),
  kind: z.string().describe('Kind of the object.'),
  namespace: z.string().describe('Namespace of the object; absent: it has none.').optional(),
  name: z.string().describe('Name of the object.'),
  health: z
    .enum(['healthy', 'progressing', 'failed', 'missing', 'unknown'])
    .describe('How it is, as Holdfast judges it.'),
  detail: z.string().describe('Phase of a Canary, and why something is not healthy.'),
  owner: z.string().describe('Who else than its parent writes it; empty: nobody.'),
  drift: z.string().describe('What somebody else changed; empty: nothing is known.'),
  role: z.string().describe('What it is to its Canary.').optional(),
};

interface TreeNode extends z.infer<z.ZodObject<typeof node>> {
  readonly children: readonly TreeNode[];
}

const treeNode: z.ZodType<TreeNode> = z.object({
  ...node,
  children: z.array(z.lazy(() => treeNode)).describe('What belongs to it.'),
});
z.globalRegistry.add(treeNode, { id: 'TreeNode' });

/** What `holdfast tree` prints. */
export const trees = z.object({
  trees: z
    .array(
      z.object({
        ...node,
        children: z.array(treeNode).describe('What belongs to it.'),
        unread: z.array(z.string()).describe('What could not be read, and why.'),
      }),
    )
    .describe('A tree for each Source or Canary.'),
});
