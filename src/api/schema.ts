/** Building blocks of the kinds' schemas, and the shapes that several of them have: one statement gives the runtime check, the type and the CRD's rule. */
import * as z from 'zod';

/** How many of a group of fields an object may carry. */
type GroupRule = 'exactlyOne' | 'atMostOne';

/** One alternative of a oneOf: fields that must all be present. */
type Alternative = readonly string[];

/** Text with an upper bound in characters. */
export function text(maxCharacters: number): z.ZodString {
  return z.string().max(maxCharacters);
}

/** A string map as in labels; unbounded, because Flagger's own maps are. */
export function stringMap() {
  return z.record(z.string(), z.string());
}

/** A port number or the name of a container port. */
export function intOrString() {
  return z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true });
}

/** Digits, then `m` or `s`; open at the end, exactly as Flagger's CRD has it. */
export function flaggerDuration() {
  return z.string().regex(/^[0-9]+(m|s)/);
}

/** Digits and units up to the end: `1m30s`, `500ms`, `2h`. For fields that Flagger does not have. */
export function duration() {
  return z
    .string()
    .max(32)
    .regex(/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/);
}

/**
 * A field with a default of Flagger's CRD, which the API server fills in. Flagger compares what it reads with what it finds on a route, and
 * without them would write that route again at each interval; our own fields have no such default.
 */
export function withFlaggerDefault<T extends z.ZodType>(schema: T, value: string | number): T {
  return schema.meta({ ...schema.meta(), [flaggerDefaultKey]: value }) as T;
}

/** Where a schema keeps it. */
export const flaggerDefaultKey = 'x-flagger-default';

/** RFC 3339 text as the API server checks it. */
export function timestamp() {
  return z.string().meta({ format: 'date-time' });
}

/** A reference to an object by name in the same namespace. */
export function nameReference() {
  return z.object({ name: text(253).describe('Name of the object, in the same namespace.') });
}

/**
 * Adds "exactly one of these alternatives" (or at most one) to an object schema, as a check and as the CRD's oneOf.
 * An alternative counts as given when all its fields are present, which is how the API server counts.
 */
export function oneOf<T extends z.ZodObject>(
  schema: T,
  rule: GroupRule,
  alternatives: readonly Alternative[],
): T {
  const branches: object[] = alternatives.map((required) => ({ required }));
  if (rule === 'atMostOne') branches.unshift({ not: { anyOf: [...branches] } });
  return schema
    .superRefine((value, context) => {
      const present = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
      const given = alternatives.filter((fields) => fields.every((field) => present[field] !== undefined));
      if (given.length === 1 || (given.length === 0 && rule === 'atMostOne')) return;
      const choices = alternatives.map((fields) => fields.join(' + ')).join(', or ');
      const found = given.map((fields) => fields.join(' + ')).join(' and ');
      const message =
        given.length === 0
          ? `needs exactly one of: ${choices}; none is complete`
          : `only one may be given of: ${choices}; found ${found}`;
      context.addIssue({ code: 'custom', message, input: value });
    })
    .meta({ oneOf: branches }) as T;
}

// How a request's text is compared: the three shapes that Flagger's matches use.

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

// Conditions of any kind's status.

const condition = z.object({
  type: text(64).describe('What the condition is about.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('True, False or Unknown.'),
  reason: text(64).describe('One word for programs; see the table of reasons.'),
  message: text(1024).describe('One line for people.').optional(),
  lastTransitionTime: timestamp().describe('When the status last changed.').exactOptional(),
  lastUpdateTime: timestamp().describe('When the condition was last written.').exactOptional(),
  observedGeneration: z.int().describe('Generation of the object it was computed from.').exactOptional(),
});

/**
 * At most 32 conditions, a type once. Flagger may leave the message out, but every known writer sets it; the type (that of Condition in
 * kubernetes.ts) says that it is there.
 */
export const conditionsSchema = z.array(condition).max(32) as unknown as z.ZodType<
  Array<z.infer<typeof condition> & { message: string }>
>;

const requestAnswer = z.object({
  result: z.enum(['Done', 'Refused']).describe('Done or Refused.'),
  reason: text(64).describe('Why, as in the table of reasons.'),
  message: text(256).describe('What follows, or why nothing does.'),
  time: timestamp().describe('When it was handled.'),
});

/** In the status of Canaries and Sources: what was asked for by annotation, and its result. */
export const requestFields = {
  handled: z
    .record(text(64), text(512))
    .meta({ maxProperties: 32 })
    .describe('The last request of each verb that was handled.')
    .optional(),
  answers: z
    .record(text(64), requestAnswer)
    .meta({ maxProperties: 32 })
    .describe('The result of the last request of each verb.')
    .optional(),
};
