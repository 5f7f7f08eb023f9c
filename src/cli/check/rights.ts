import { isApiError } from '../../cluster/errors.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { bad, type CheckLine, ok } from '../../terminal/check-report.ts';
import { applyRights, holdfastRights, ownRights, type Right, type RightsOptions } from '../install/rights.ts';
import type { UsedParts } from './canaries.ts';

/** Whose rights are asked for. */
export interface Asker {
  /** Where Holdfast runs. */
  readonly ownNamespace: string;
  /** Ask for this user instead of oneself. */
  readonly asUser?: string | undefined;
}

/** What Holdfast was installed with, as far as its flags say so. */
export type InstalledChoice = Pick<
  RightsOptions,
  'watchNamespaces' | 'defaultServiceAccount' | 'trustedSourceNamespaces' | 'dashboard'
>;

interface RightsQuery extends UsedParts, InstalledChoice, Asker {}

interface Question {
  readonly right: Right;
  readonly namespace: string | undefined;
  /** Without it Holdfast cannot do its work; else it cannot apply some kinds. */
  readonly needed: boolean;
}

/** Needed only where a Canary targets them, or for one way to install Holdfast. */
const needsUse = new Set([
  'daemonsets',
  'statefulsets',
  'controllerrevisions',
  'horizontalpodautoscalers',
  'scaledobjects',
  'tokenreviews',
  'subjectaccessreviews',
  'nodes',
  'serviceaccounts',
  'rolebindings',
  'clusterroles',
]);
const act =
  'bind the roles that holdfast install prints, or check the user that Holdfast runs as with holdfast check --as USER';

/** Asks the API server for every right of the list that install prints. */
export async function checkRights(transport: Transport, options: RightsQuery): Promise<CheckLine[]> {
  const questions = questionsFor(options);
  const answers = await askAll(transport, questions, options);
  if (!answers) {
    const detail = 'this API server does not support SelfSubjectAccessReview, so rights could not be checked';
    return [bad('warning', options.asUser ?? 'you', detail, { actor: 'nobody' })];
  }
  const missing = answers.filter(({ refused }) => refused.length > 0);
  const who = options.asUser ?? 'you';
  if (missing.length === 0) return [ok(who, `all ${questions.length} required rights`)];
  const granted = ok(who, `${questions.length - missing.length} of ${questions.length} required rights`);
  const refusals = missing.map(({ question: { right, namespace, needed }, refused }) => {
    const [plural = '', subresource] = right.resource.split('/');
    const resource = [right.group ? `${plural}.${right.group}` : plural, subresource]
      .filter(Boolean)
      .join('/');
    const where = namespace ? ` in ${namespace}` : '';
    const detail = `cannot ${refused.join(', ')} ${resource}${where} (${right.why})`;
    return bad(needed ? 'failed' : 'warning', who, detail, { actor: 'administrator', act });
  });
  return [granted, ...refusals];
}

/** Undefined where the API server has no such question (the sandbox). */
async function askAll(
  transport: Transport,
  questions: readonly Question[],
  options: RightsQuery,
): Promise<Array<{ question: Question; refused: string[] }> | undefined> {
  const ask = async (question: Question) => ({
    question,
    refused: await refusedVerbs(transport, question, options),
  });
  try {
    // The first one alone: where it cannot be answered, the others need not be asked.
    const first = await Promise.all(questions.slice(0, 1).map(ask));
    return [...first, ...(await Promise.all(questions.slice(1).map(ask)))];
  } catch (error) {
    if (isApiError(error, 'unknownKind', 'notFound')) return undefined;
    throw error;
  }
}

function questionsFor(options: RightsQuery): Question[] {
  const { ownNamespace, watchNamespaces, usedProviders: providers, usedResources } = options;
  const { defaultServiceAccount, trustedSourceNamespaces, dashboard = false } = options;
  const where = watchNamespaces.length > 0 ? watchNamespaces : [undefined];
  const accounts = { impersonation: false, defaultServiceAccount, trustedSourceNamespaces };
  const installed = { watchNamespaces, ...accounts, providers, dashboard };
  // The dashboard reviews who looks, and what they may do.
  const used = new Set([...usedResources, ...(dashboard ? ['tokenreviews', 'subjectaccessreviews'] : [])]);
  const isNeeded = ({ resource }: Right) => !needsUse.has(resource) || used.has(resource);
  return [
    ...ownRights.map((right) => ({ right, namespace: ownNamespace, needed: true })),
    ...where.flatMap((namespace) => [
      ...holdfastRights(installed).map((right) => ({ right, namespace, needed: isNeeded(right) })),
      ...applyRights(installed).map((right) => ({ right, namespace, needed: false })),
    ]),
  ];
}

async function refusedVerbs(
  transport: Transport,
  { right, namespace }: Question,
  { asUser }: RightsQuery,
): Promise<string[]> {
  const answers = await Promise.all(
    right.verbs.map(async (verb) => {
      const [resource = '', subresource] = right.resource.split('/');
      const resourceAttributes = {
        group: right.group,
        resource,
        verb,
        ...(subresource ? { subresource } : {}),
        ...(namespace ? { namespace } : {}),
        ...(right.names?.[0] ? { name: right.names[0] } : {}),
      };
      return (await mayI(transport, resourceAttributes, asUser)) ? [] : [verb as string];
    }),
  );
  return answers.flat();
}

/** Asks the API server whether this may be done, by oneself or by that user. Throws ApiError. */
export async function mayI(
  transport: Transport,
  resourceAttributes: Readonly<Record<string, string>>,
  asUser: string | undefined,
): Promise<boolean> {
  const body = await transport.request({
    verb: 'create',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    contentType: 'application/json',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    },
    object: 'a SelfSubjectAccessReview',
    ...(asUser ? { impersonate: asUser } : {}),
  });
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true;
}
