/** How a request's text is compared: the three shapes that Flagger's matches use. */
import * as z from 'zod';
import { oneOf } from './schema.ts';

const exact = z.string().describe('The whole text must be equal.').optional();
const prefix = z.string().describe('The text must begin with this.').optional();
const suffix = z.string().describe('The text must end with this.').optional();
const regex = z.string().describe('The whole text must match this regular expression (RE2).').optional();

/** At most one of exact, prefix, regex; none means "is present". */
export const stringMatchSchema = oneOf(z.object({ exact, prefix, regex }), 'atMostOne', [
  ['exact'],
  ['prefix'],
  ['regex'],
]);

/** Exactly one of exact, prefix, suffix, regex: the headers of an A/B match. */
export const headerMatchSchema = oneOf(z.object({ exact, prefix, suffix, regex }), 'exactlyOne', [
  ['exact'],
  ['prefix'],
  ['suffix'],
  ['regex'],
]);

/** Exactly one of exact, prefix, regex: an allowed origin of a CORS policy. */
export const originMatchSchema = oneOf(z.object({ exact, prefix, regex }), 'exactlyOne', [
  ['exact'],
  ['prefix'],
  ['regex'],
]);

export type StringMatch = z.infer<typeof stringMatchSchema>;
export type HeaderMatch = z.infer<typeof headerMatchSchema>;
