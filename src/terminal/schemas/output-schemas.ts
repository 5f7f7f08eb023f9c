/** The schema of each kind of output. Only the types are part of the program; tests check documents with them, and docs/schemas is made of them. */
import type * as z from 'zod';
import * as canaries from './canaries.ts';
import * as cluster from './cluster.ts';
import * as events from './events.ts';
import * as repository from './repository.ts';
import * as requests from './requests.ts';

/** All kinds of output, in the order of the alphabet. */
export const outputSchemas = {
  AdoptionPlan: cluster.adoptionPlan,
  CanaryDifference: canaries.canaryDifference,
  Check: cluster.check,
  DeletedObject: events.deletedObject,
  DemoEvent: events.demoEvent,
  Drill: canaries.drill,
  Error: cluster.failure,
  Explanation: canaries.explanation,
  Freeze: requests.freeze,
  FreezesLifted: requests.freezesLifted,
  Gates: requests.gates,
  HandBack: cluster.handBack,
  History: canaries.history,
  LogLine: events.logLine,
  MoveSteps: cluster.moveSteps,
  Pause: requests.pause,
  Plan: repository.plan,
  ReportedEvent: events.reportedEvent,
  ReportedEvents: events.reportedEvents,
  RequestResult: requests.requestResult,
  Runbook: canaries.runbook,
  RunbookReasons: canaries.runbookReasons,
  SourceDifference: canaries.sourceDifference,
  Suspension: requests.suspension,
  SyncResult: requests.syncResult,
  Trees: canaries.trees,
  Validation: repository.validation,
  Version: cluster.version,
  WaitResult: requests.waitResult,
  WatchEvent: events.watchEvent,
};

/** Name of a kind of output. */
export type OutputKind = keyof typeof outputSchemas;

type ReadonlyDeep<T> = T extends object ? { readonly [Field in keyof T]: ReadonlyDeep<T[Field]> } : T;

/** What a kind of output says, without apiVersion and kind. */
export type OutputBody<Kind extends OutputKind> = ReadonlyDeep<z.infer<(typeof outputSchemas)[Kind]>>;
