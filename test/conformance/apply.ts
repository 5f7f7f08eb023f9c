import type { Answer, Json, Target } from './target.ts';

/** How to apply. */
export interface ApplyOptions {
  readonly manager: string;
  readonly force?: boolean;
  readonly query?: string;
  readonly subresource?: string;
}

const PLURALS: Record<string, string> = {
  ConfigMap: '/api/v1/namespaces/NS/configmaps',
  Service: '/api/v1/namespaces/NS/services',
  Deployment: '/apis/apps/v1/namespaces/NS/deployments',
};

/** Path of an object. */
export function pathOf(object: Json): string {
  return `${PLURALS[object.kind]?.replace('NS', object.metadata.namespace)}/${object.metadata.name}`;
}

/** Server-side apply. */
export function apply(target: Target, object: Json, options: ApplyOptions): Promise<Answer> {
  const suffix = options.subresource ? `/${options.subresource}` : '';
  const query = `fieldManager=${options.manager}&force=${options.force ?? false}${options.query ?? ''}`;
  return target.request('PATCH', `${pathOf(object)}${suffix}?${query}`, {
    body: object,
    contentType: 'application/apply-patch+yaml',
  });
}
