/** Every bound of the program in one table. What comes from outside is cut off or refused at these, never later. */

/** Names carry their unit. A number that users may change has a flag that starts from it. */
export const limits = {
  /** Bytes of one fetched pack; the reader holds a pack in memory. */
  packBytes: 64 * 1024 * 1024,
  /** Objects in one fetched pack. */
  packObjects: 500_000,
  /** Bytes of one object of a pack after inflation. */
  packObjectBytes: 64 * 1024 * 1024,
  /** Bytes of all objects of a pack after inflation, deltas and what they make included. */
  packMadeBytes: 1024 * 1024 * 1024,
  /** Bytes of the objects that indexing a pack holds at once; another one is made of them. */
  packHeldBytes: 96 * 1024 * 1024,
  /** Deltas of a pack that start from one another; Git makes chains of 50. */
  packChainDeltas: 250,
  /** Commits of one store at which a shallow history ends; each fetch sends them to the server. */
  shallowCommits: 50_000,
  /** Bits of an RSA key. To sign with one takes eight times as long for twice as many: a tenth of a second for these. */
  rsaKeyBits: 8_192,
  /** Bytes of such a private key (PKCS#8). */
  privateKeyBytes: 5_000,
  /** Bytes of all repositories on the disk; beyond, only namespaces that hold less than their share fetch more. `--git-disk-mib` may change it. */
  gitDiskBytes: 768 * 1024 * 1024,
  /** Bytes of one answer to a ref listing. */
  refListingBytes: 16 * 1024 * 1024,
  /** Bytes of the known_hosts of one Secret. */
  knownHostsBytes: 256 * 1024,
  /** Characters of one private key of SSH. */
  sshKeyCharacters: 32 * 1024,
  /** Rounds that make a key of a passphrase; ssh-keygen's default is 16 or 24. A round takes some 20 ms. */
  sshKeyRounds: 256,
  /** Commits a shallow history is deepened by, at most, to find out whether a head is a descendant (design 5). */
  ancestryCommits: 1_000,
  /** Files under a Source's path that are read. */
  sourceFiles: 5_000,
  /** Processes that may die while the same commit of a Source is fetched or rendered; then it is left alone for a while. */
  readingDeaths: 2,
  /** Milliseconds for which it is left alone first; five times as long after each further death. */
  firstSkippedReadingMs: 2 * 60 * 1000,
  /** Milliseconds for which it is left alone at most. */
  skippedReadingMs: 60 * 60 * 1000,
  /** Steps of matching the files of a Source with its `spec.ignore`, about one for each character of path and rule: some 20 seconds, with pauses. */
  ignoreSteps: 500_000_000,
  /** Folders deep below a Source's path. */
  sourceFolderDepth: 64,
  /** Bytes of one manifest file. */
  fileBytes: 6 * 1024 * 1024,
  /** Bytes of all manifest files of one Source together. */
  sourceBytes: 32 * 1024 * 1024,
  /** YAML documents in one file. */
  documentsPerFile: 200,
  /** Nesting of one YAML document. */
  yamlDepth: 64,
  /** Nodes of one YAML document after aliases are expanded. */
  yamlNodes: 60_000,
  /** Uses of aliases in one YAML document. */
  yamlAliases: 50,
  /** Characters of one armored file of age in what SOPS adds to a file; a data key takes some 400. */
  ageCharacters: 64 * 1024,
  /** Stanzas, one for each recipient, in such a file; SOPS writes one. */
  ageStanzas: 20,
  /** Stanzas of all of them that are tried to open one encrypted file. */
  ageStanzasPerFile: 200,
  /** Keys of one Secret; each is tried on each stanza. */
  ageKeys: 20,
  /** Such files that are tried to open one encrypted file; SOPS writes one for each recipient. */
  ageEntriesPerFile: 100,
  /** Steps of looking for secrets in messages, about one for each character of a message and secret, of all messages of a Source together: about a second. */
  hidingSteps: 300_000_000,
  /** Objects that one Source may render. */
  objectsPerSource: 5_000,
  /** Kinds without an object in Git, as the annotations of a Source name them, in which objects that left Git are looked for: each is a watch. */
  kindsOutsideGit: 200,
  /** Bytes of one object as JSON; etcd refuses more than about this. */
  objectBytes: 1_500_000,
  /** Characters of one text that variables were filled into, and of each text on the way to it. */
  substitutedTextCharacters: 1_000_000,
  /** Steps (about one for each character that is read or made) of filling variables into one object: some tenths of a second. */
  substitutionObjectSteps: 20_000_000,
  /** The same of all objects of a Source together; it pauses between objects. */
  substitutionSourceSteps: 500_000_000,
  /** Seconds of processor time that a renderer's process may use; ordinary ones need some 0.05. */
  renderProcessorSeconds: 8,
  /** Milliseconds it may run: much longer, since a busy node gives it little of a processor. */
  renderMs: 30_000,
  /** Bytes a renderer's process may print. */
  renderOutputBytes: 8 * 1024 * 1024,
  /** Bytes of memory a renderer's process may use. */
  renderMemoryBytes: 256 * 1024 * 1024,
  /** Bytes of all files that one kustomization or chart refers to, charts inside it included. */
  renderInputBytes: 32 * 1024 * 1024,
  /** Files that one kustomization or chart refers to. */
  renderInputFiles: 2_000,
  /** Bytes of one of these files; archives of charts are among them. */
  renderInputFileBytes: 8 * 1024 * 1024,
  /** Bytes of renderers' output that is cached for the next commit, of all Sources together. */
  renderCacheBytes: 64 * 1024 * 1024,

  /** Bytes of a whole LKG record before compression; refused before the analysis begins (design 5). */
  recordBytes: 8 * 1024 * 1024,
  /** Bytes of the ConfigMaps and Secrets of one pod template that are read from the cluster at a time. */
  liveConfigBytes: 16 * 1024 * 1024,
  /** Bytes of one Secret that holds a part of a record. */
  recordPartBytes: 900 * 1024,
  /** Kept releases per Canary, newest first (design 5). */
  keptRecords: 5,
  /** Records of one Canary that are read, besides those that its status names. */
  recordsRead: 20,
  /** Rejected digests per Canary in status (design 2.3). */
  rejectedDigests: 100,
  /** Past releases per Canary in status (design 2.3). */
  historyEntries: 10,
  /** Reports per Canary in status. */
  statusIncidents: 5,
  /** Characters of `status.bookkeeping` of a Canary. */
  bookkeepingCharacters: 256 * 1024,
  /** Bytes of it after inflation: a spec, and some reports. */
  bookkeepingBytes: 2 * 1024 * 1024,
  /** Metrics, webhooks, step weights or matches of a Canary; the CRD, which is Flagger's too, has no bound. */
  analysisEntries: 500,
  /** Conditions of a route for an A/B test. */
  routeConditions: 10_000,
  /** Check results per Canary in status. */
  statusChecks: 100,
  /** Serving workloads per Canary in status. */
  servingEntries: 10,
  /** Characters of `status.message` (design 2.3). */
  messageCharacters: 160,
  /** Characters of a condition's message. */
  conditionMessageCharacters: 1_024,
  /** Characters of a commit's subject in status. */
  subjectCharacters: 160,
  /** Bytes of an event's note; the API server refuses more. */
  eventNoteBytes: 1_024,
  /** Freezes of one namespace; where there are more, they are in force without being read. */
  freezesPerNamespace: 50,
  /** Windows of one freeze; a Source may have 50. */
  freezeWindows: 10,
  /** Characters of these windows, and of its selector. */
  freezeFieldCharacters: 16 * 1024,
  /** Bytes of the annotation `holdfast.dev/post-promotion`. */
  postPromotionAnnotationBytes: 16 * 1024,
  /** Nesting of one object of our kinds; values of a chart may be anything. */
  objectDepth: 100,
  /** Problems reported for one object; the rest is counted. */
  problemsPerObject: 50,

  /** Bytes of one answer of a metric server, a hook or a forge, after decompression. */
  httpResponseBytes: 1024 * 1024,
  /** Milliseconds one outbound request may take in all, unless its caller says otherwise. */
  httpTotalMs: 30_000,
  /** Points of one side that a metric may be compared by. */
  comparedPoints: 500,
  /** Seconds that the Job of a check may run. */
  checkJobSeconds: 3_600,
  /** Milliseconds one metric query may take; Flagger's bound. */
  metricQueryMs: 5_000,
  /** Milliseconds for which a server of metrics or Git that asks for it (Retry-After) is left alone, at most. */
  askedPauseMs: 10 * 60_000,
  /** Milliseconds one attempt of a webhook may take; a hook may run tests. */
  hookTimeoutMs: 60 * 60 * 1000,
  /** Further attempts of one webhook. */
  hookRetries: 20,
  /** Milliseconds to connect. */
  httpConnectMs: 5_000,
  /** Bytes of one push webhook; after a larger one the next poll sees the push. */
  httpRequestBytes: 1024 * 1024,
  /** Bytes of one answer of the API server to a list page. */
  listPageBytes: 64 * 1024 * 1024,
  /** Objects per list page. */
  listPageObjects: 500,
  /** Characters of one metric query after its template was filled in. */
  queryCharacters: 16 * 1024,

  /** Milliseconds: the shortest time between two polls of one Source (design 2.2). */
  minSourceIntervalMs: 1_000,
  /** Milliseconds: Flagger's shortest analysis interval; `--min-analysis-interval` may lower it (design 2.4). */
  minAnalysisIntervalMs: 10_000,
  /** Streams of events that the dashboard serves, of all persons and of one. */
  dashboardStreams: 128,
  dashboardStreamsPerPerson: 8,
  /** Bytes that wait for one slow reader; beyond, it gets the newest state once it has read them, and is left after a minute. */
  dashboardBufferedBytes: 1024 * 1024,
  /** Persons, and rights of persons, that the dashboard remembers for a short time. */
  dashboardSessions: 1_000,
  dashboardRights: 20_000,
  /** Groups of a person that a login proxy names. */
  dashboardGroups: 2_000,
  /** Fields that a release changes, pods of a Canary and objects of a Source that a page lists. */
  dashboardFieldChanges: 200,
  dashboardPods: 200,
  dashboardObjects: 1_000,
  /** Bytes of one request to the dashboard. */
  dashboardRequestBytes: 16 * 1024,
  /** Moments of one Canary, and of all, that the dashboard's plots remember. */
  journalPointsPerCanary: 300,
  journalPoints: 30_000,
  /** Checks of one Canary that are plotted. */
  journalChecks: 12,
  /** Names that a shell is offered at once. */
  completions: 1_000,
  /** Objects of a Source that are listed as a tree. */
  treeObjects: 2_000,
  /** Logs of containers that are read for one command. */
  logSources: 50,
  /** Bytes of one log that is not followed. */
  logBytes: 16 * 1024 * 1024,
  /** Characters of one line of a log; longer ones are cut in pieces. */
  logLineCharacters: 64 * 1024,
  /** Milliseconds a drain after SIGTERM may take. */
  drainMs: 20_000,
} as const;

/** At the end of a text: half of a character, for which the API server stores another text, to be written again and again. */
const half = /[\uD800-\uDBFF]$/;

/** Text of at most this many characters, with an ellipsis where something was left out. */
export function shorten(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const beginning = text.slice(0, maxCharacters - 1).replace(half, '');
  return `${beginning.trimEnd()}…`;
}

/** Text without the signs that turn the direction of what follows. */
export function withoutDirections(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
}

/** What others wrote, on one line: without signs that move a cursor, begin another line, or turn the direction of what follows. */
export function oneLine(text: string): string {
  return withoutDirections(text.replace(/[\p{Cc}\s]+/gu, ' '));
}

/** The same of at most this many characters, with an ellipsis where something was left out. */
export function singleLine(text: string, maxCharacters: number): string {
  return shorten(oneLine(text).trim(), maxCharacters);
}

/** Text without the slashes at its end. A pattern begins anew at each of very many. */
export function withoutLastSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** The first characters of a text. */
export function beginningOf(text: string, maxCharacters: number): string {
  return text.slice(0, maxCharacters).replace(half, '');
}

/** Names in a sentence; those beyond so many are counted. */
export function listNames(names: readonly string[], most = 5): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return names.slice(0, most).join(', ') + more;
}
