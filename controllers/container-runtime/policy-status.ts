/** Says on an ImagePolicy which of its scopes a ClusterImagePolicy takes over, as MCO does. */

import { IMAGE_POLICIES } from '../../adapters/kube/resources';
import type { RegistriesLook } from '../../core/registries';
import type { GeneratingDeps } from '../generated';

const PENDING = 'Pending';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Writes where it is not said yet, or no longer true. */
export async function policyStatusWrites(
  { picture, writer }: GeneratingDeps,
  { manager, now }: { readonly manager: string; readonly now: string },
  conflicts: RegistriesLook['conflicts'],
): Promise<void> {
  for (const policy of picture.imagePolicies.list()) {
    const { name, namespace = '', uid } = policy.metadata;
    const conflict = conflicts.find((one) => one.name === name && one.namespace === namespace);
    const { status } = policy as {
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    const said = status?.conditions?.find(({ type }) => type === PENDING);
    if (said?.message === conflict?.message) continue;
    const conditions =
      conflict === undefined
        ? []
        : [
            {
              ...{ type: PENDING, status: 'False', reason: conflict.reason },
              ...{ message: conflict.message, lastTransitionTime: now },
            },
          ];
    const metadata = { name, namespace, ...(uid === undefined ? {} : { uid }) };
    const object = { metadata, status: { conditions } };
    await writer.apply(IMAGE_POLICIES, object, { manager, subresource: 'status' });
  }
}
