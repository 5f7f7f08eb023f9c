import type { Canary } from '../../api/canary/canary.ts';
import { metricSubject } from './subject.ts';
import { renderTemplate } from './template.ts';
import { TemplateError } from './template-parser.ts';

const anyCanary: Canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'name', namespace: 'namespace' },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'name' },
    service: { port: 80 },
    analysis: { interval: '1m', threshold: 1, iterations: 1 },
  },
};

/** Has every entry. */
const anyVariables: Readonly<Record<string, string>> = new Proxy(
  {},
  {
    get: () => 'value',
    getOwnPropertyDescriptor: () => ({ value: 'value', configurable: true, enumerable: true }),
  },
);

/**
 * Why a query cannot be rendered for a Canary, whatever the cluster holds; undefined where it can. `variables`: the Canary's; without them
 * any name counts as given, for a template without references.
 */
export function queryProblem(
  query: string,
  { canary = anyCanary, variables = anyVariables }: { canary?: Canary; variables?: typeof anyVariables } = {},
): string | undefined {
  try {
    const { kind: _, ownService: __, ...names } = metricSubject(canary, 'canary');
    renderTemplate(query, { ...names, interval: '1m', variables });
    return undefined;
  } catch (error) {
    if (error instanceof TemplateError) return error.message;
    throw error;
  }
}
