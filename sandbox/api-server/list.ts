import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { ApiError, badRequest, expired } from './errors.ts';
import type { JsonRecord } from './json.ts';
import { apiVersionOf, type KindInfo, toServed } from './kinds.ts';
import type { ApiRequest, ResourcePath } from './request.ts';
import { fieldFilter, labelFilter, type ObjectFilter } from './selectors.ts';
import type { Store } from './store.ts';

const MAX_OPEN_PAGES = 200;

interface Page {
  readonly version: number;
  readonly rest: readonly KubernetesObject[];
}

/** Answers list requests; further pages of a list show the state at its first page. */
export interface Lister {
  list(request: ApiRequest, target: ResourcePath): JsonRecord;
  /** Every continue token answers 410 from now on. */
  forgetPages(): void;
}

/** Does the client want metadata only? */
export function wantsMetadataOnly(accept: string): boolean {
  return /as=PartialObjectMetadata/.test(accept);
}

/** The object as this request shows it: in the version asked for, and metadata only where that is asked for. */
export function present(kind: KindInfo, object: KubernetesObject, accept: string): JsonRecord {
  if (wantsMetadataOnly(accept)) {
    return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
  }
  return { ...toServed(kind, object), apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** The objects a list or watch selects. */
export function filterOf(request: ApiRequest, target: ResourcePath): ObjectFilter {
  const labels = labelFilter(request.query.get('labelSelector'));
  const fields = fieldFilter(request.query.get('fieldSelector'));
  return (stored) => {
    const object = toServed(target.kind, stored);
    const here = target.namespace === undefined || object.metadata.namespace === target.namespace;
    return here && labels(object) && fields(object);
  };
}

/** Refuses a version that does not exist yet, with the 504 of a real server. */
function refuseFutureVersion(store: Store, version: number): void {
  if (version <= store.version()) return;
  const message = `Too large resource version: ${version}, current: ${store.version()}`;
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  throw new ApiError(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
}

/** A lister over a store. */
export function createLister(store: Store): Lister {
  const pages = new Map<string, Page>();
  let tokens = 0;

  function start(request: ApiRequest, target: ResourcePath): Page {
    const version = Number(request.query.get('resourceVersion') || '0');
    if (Number.isNaN(version)) throw badRequest('invalid resourceVersion');
    refuseFutureVersion(store, version);
    const objects = store.list(target.kind.storageKey, target.namespace).filter(filterOf(request, target));
    return { version: store.version(), rest: objects };
  }

  function resume(token: string): Page {
    const page = pages.get(token);
    if (page) return page;
    throw expired('The provided continue parameter is too old to display a consistent list result.');
  }

  function remember(page: Page): string {
    tokens += 1;
    const token = Buffer.from(`page-${tokens}`).toString('base64url');
    pages.set(token, page);
    const oldest = [...pages.keys()][0];
    if (pages.size > MAX_OPEN_PAGES && oldest) pages.delete(oldest);
    return token;
  }

  return {
    forgetPages: () => pages.clear(),
    list(request, target) {
      const token = request.query.get('continue');
      const { version, rest } = token ? resume(token) : start(request, target);
      const limit = Number(request.query.get('limit') || '0') || rest.length;
      const left = rest.slice(limit);
      const paging =
        left.length > 0
          ? { continue: remember({ version, rest: left }), remainingItemCount: left.length }
          : {};
      const partial = wantsMetadataOnly(request.accept);
      const items = rest.slice(0, limit).map((object) => present(target.kind, object, request.accept));
      return {
        kind: partial ? 'PartialObjectMetadataList' : `${target.kind.kind}List`,
        apiVersion: partial ? 'meta.k8s.io/v1' : apiVersionOf(target.kind),
        metadata: { resourceVersion: String(version), ...paging },
        items,
      };
    },
  };
}
