/** The table of forges: a further one is one more file and one more line here. */
import { bitbucket } from './bitbucket.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import type { ForgeDialect } from './types.ts';

/** Every forge, in the order in which an unknown host is asked for its version page. */
export const forges: readonly ForgeDialect[] = [gitea, gitlab, github, bitbucket];
