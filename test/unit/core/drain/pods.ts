/** Pods to drain, as the API would show them. */

import type { Pod } from '../../../../core/drain';
import type { ObjectMeta, OwnerReference } from '../../../../core/object-meta';

export const NOW = '2026-01-01T12:00:00Z';

/** A running, ready pod `shop/cart-7f-x` with these differences. */
export function aPod(
  metadata: Partial<ObjectMeta>,
  rest: { readonly spec?: Pod['spec']; readonly status?: Pod['status'] } = {},
): Pod {
  const { spec = {}, status = { phase: 'Running', conditions: [READY] } } = rest;
  return { metadata: { namespace: 'shop', name: 'cart-7f-x', ...metadata }, spec, status };
}

const READY = { type: 'Ready', status: 'True' };

export function ownedBy(
  kind: string,
  name: string,
  { controller = true }: { readonly controller?: boolean } = {},
): readonly OwnerReference[] {
  return [{ apiVersion: 'apps/v1', kind, name, uid: `uid-of-${name}`, controller }];
}
