/** The exit codes of all commands, with what each means; docs/configuration.md shows this table. */
export const exitCodes = {
  /** As asked for. */
  good: 0,
  /** The answer is no: it failed, it differs, a check does not pass, the request was refused. */
  bad: 1,
  /** There is no answer. */
  noAnswer: 2,
  held: 3,
  timedOut: 4,
  interrupted: 130,
} as const;

/** What stands in the documentation beside each code. */
export const exitCodeMeanings: ReadonlyArray<readonly [code: number, meaning: string]> = [
  [exitCodes.good, 'as asked for: the release is good, nothing differs, every check passes'],
  [
    exitCodes.bad,
    'the answer is no: the release failed, something differs, a check fails, the request was refused or not confirmed, the watched object was deleted',
  ],
  [
    exitCodes.noAnswer,
    'no answer: wrong arguments or files, no such object, no permission, no API server, no Git. `validate` also ends with it when it finds a problem',
  ],
  [exitCodes.held, 'a release that was waited for is held'],
  [exitCodes.timedOut, 'the time was up, or Holdfast did not answer in time'],
  [exitCodes.interrupted, 'interrupted, for example by Ctrl-C'],
];
