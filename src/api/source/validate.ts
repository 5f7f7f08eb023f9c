/** Checks of a Source that its schema cannot express. No message repeats the address: it may hold a password. */
import { otherNamespace } from '../canary/validate.ts';
import { limits } from '../limits.ts';
import type { Findings } from '../problems.ts';
import { formatDurationMs, parseDurationMs } from '../time.ts';
import { httpsFormOf, isSshAddress, parseSshAddress } from './git-address.ts';
import { lengthProblem, type Source } from './source.ts';

/** Checks a parsed Source by itself. Cron expressions are checked where they are scheduled. */
export function checkSource(
  source: Source,
  options: { readonly forbidsOtherNamespaces?: boolean } = {},
): Findings {
  const found: Findings = { problems: [], warnings: [] };
  const { path = '', renderer = 'auto', helm, verify, ref } = source.spec;
  checkUrl(source, found);
  if (path.split('/').includes('..') || path.includes('\\'))
    found.problems.push({ path: 'spec.path', message: 'must stay inside the repository, written with /' });
  checkTimes(source, found);
  checkWrite(source, found);
  if (helm && (renderer === 'plain' || renderer === 'kustomize'))
    found.warnings.push({ path: 'spec.helm', message: `has no effect: ${renderer} renders, not helm` });
  // A branch has no tag whose signature could be looked at.
  const mode = verify?.mode ?? 'HEAD';
  if (mode !== 'HEAD' && ref.tag === undefined && ref.semver === undefined)
    found.problems.push({
      path: 'spec.verify.mode',
      message: `is ${mode}, which takes spec.ref.tag or spec.ref.semver`,
    });
  if (options.forbidsOtherNamespaces) checkNamespaces(source, found);
  return found;
}

function checkNamespaces({ metadata, spec }: Source, found: Findings): void {
  const own = metadata.namespace ?? '';
  const named = [
    ...(spec.dependsOn ?? []).map(
      ({ namespace }, index) => [`spec.dependsOn[${index}].namespace`, namespace] as const,
    ),
    ...(spec.alerts ?? []).map(
      ({ providerRef }, index) =>
        [`spec.alerts[${index}].providerRef.namespace`, providerRef.namespace] as const,
    ),
  ];
  for (const [path, namespace] of named)
    if (namespace && own !== '' && namespace !== own)
      found.problems.push({ path, message: otherNamespace(namespace) });
}

function checkUrl({ spec }: Source, found: Findings): void {
  const path = 'spec.url';
  if (isSshAddress(spec.url)) {
    const address = parseSshAddress(spec.url);
    if (typeof address === 'string') found.problems.push({ path, message: address });
    if (!spec.secretRef)
      found.problems.push({
        path: 'spec.secretRef',
        message: 'is missing: an SSH address needs a Secret with identity (a private key) and known_hosts',
      });
    return;
  }
  if (!URL.canParse(spec.url)) {
    found.problems.push({ path, message: 'is not a valid URL' });
    return;
  }
  const url = new URL(spec.url);
  if (url.username || url.password)
    found.problems.push({
      path,
      message: 'holds credentials; put them into the Secret that secretRef names',
    });
  if (url.protocol === 'http:' && spec.secretRef)
    found.warnings.push({ path, message: 'is http://: credentials travel in clear text' });
}

/** Git servers without an API that this version knows, by a part of their hosts' names. */
const withoutForge: ReadonlyArray<readonly [host: RegExp, name: string]> = [
  [/(^|\.)(dev\.azure|visualstudio)\.com$/, 'Azure DevOps'],
  [/^git-codecommit\./, 'CodeCommit'],
];

/** What is asked for, and would show at the first rejected release only. */
function checkWrite({ spec: { url, ref, write = {} } }: Source, { warnings }: Findings): void {
  const { revert = 'none', status = false } = write;
  if (revert !== 'none' && ref.branch === undefined)
    warnings.push({ path: 'spec.write.revert', message: `is ${revert}, which takes spec.ref.branch` });
  const https = httpsFormOf(url) ?? url;
  const host = URL.canParse(https) ? new URL(https).hostname : '';
  const name = withoutForge.find(([pattern]) => pattern.test(host))?.[1];
  if (name === undefined) return;
  if (status)
    warnings.push({ path: 'spec.write.status', message: `has no effect: ${name} is not supported` });
  if (revert === 'pullRequest')
    warnings.push({
      path: 'spec.write.revert',
      message: `is pullRequest, and ${name} is not supported: the branch is pushed, and a person opens the pull request`,
    });
}

function checkTimes({ spec }: Source, found: Findings): void {
  const intervalMs = spec.interval === undefined ? undefined : parseDurationMs(spec.interval);
  if (intervalMs !== undefined && intervalMs < limits.minSourceIntervalMs)
    found.problems.push({
      path: 'spec.interval',
      message: `must be at least ${formatDurationMs(limits.minSourceIntervalMs)}`,
    });
  if (spec.timeZone !== undefined && spec.schedule === undefined)
    found.warnings.push({ path: 'spec.timeZone', message: 'is used with schedule only' });
  checkTimeZone(spec.timeZone, 'spec.timeZone', found);
  spec.windows?.forEach((window, index) => {
    checkTimeZone(window.timeZone, `spec.windows[${index}].timeZone`, found);
    const message = lengthProblem(window.duration);
    if (message) found.problems.push({ path: `spec.windows[${index}].duration`, message });
  });
}

function checkTimeZone(timeZone: string | undefined, path: string, found: Findings): void {
  if (timeZone === undefined) return;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    found.problems.push({ path, message: 'is not a known time zone; use a name such as Europe/Oslo' });
  }
}
