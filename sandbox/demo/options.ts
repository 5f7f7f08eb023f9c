/** Everything `holdfast demo` can be told. */
export interface DemoOptions {
  readonly version: string;
  /** Play on this cluster; absent: in the sandbox. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  /** Routing provider; absent: what fits the stage. */
  readonly provider: string | undefined;
  /** Gateway that the HTTPRoute attaches to (provider gatewayapi:v1). */
  readonly gateway: ObjectName | undefined;
  /** Image of the pods; anything with busybox's `sh` and `httpd`. */
  readonly image: string;
  /** Where requests reach the demo's Service on a real cluster; absent: no requests are sampled there. */
  readonly trafficUrl: string | undefined;
  /** Host header of those requests, and host name of the route. */
  readonly trafficHost: string | undefined;
  /** Play although another Holdfast or Flagger runs there; it must not watch the demo's namespace. */
  readonly besideOthers: boolean;
  /** Leave everything on the real cluster as it is at the end. */
  readonly keep: boolean;
}

/** Namespace and name of an object. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** How long things take on a stage. */
export interface Pace {
  /** The Canary's postPromotion.progressDeadlineSeconds: a primary without progress for so long is held, then reverted. */
  readonly promotionDeadlineSeconds: number;
  /** Longest time for one chapter of the story, in milliseconds. */
  readonly chapterMs: number;
}

/** A command to try after the demo, and what it does. */
export interface NextCommand {
  readonly line: string;
  readonly purpose: string;
}
