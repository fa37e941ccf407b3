import { MACHINE_CONFIG_NODES } from '../../adapters/kube/resources';
import { failureName } from '../../core/errors';
import { FIELD_MANAGER } from '../../core/names';
import type { MachineConfigNode } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import type { Writer } from '../fenced-writer';

export const FIELD_OWNER = `${FIELD_MANAGER.CONTROLLERS}-nodes`;

export interface ShownStatus {
  readonly observedGeneration: number;
  readonly configVersion: { readonly desired: string; readonly current?: string };
  readonly conditions: readonly Condition[];
}

/**
 * For when no update runs.
 * @returns false when the MachineConfigNode has changed since it was read, or is gone
 */
export async function showStatus(
  writer: Pick<Writer, 'patch' | 'apply'>,
  known: MachineConfigNode,
  status: ShownStatus,
): Promise<boolean> {
  const { name } = known.metadata;
  const { desired } = status.configVersion;
  try {
    let { resourceVersion } = known.metadata;
    if (known.spec.configVersion.desired !== desired) {
      // Not an apply: the next apply of another field would remove this one.
      const patch = { metadata: { resourceVersion }, spec: { configVersion: { desired } } };
      const written = await writer.patch(MACHINE_CONFIG_NODES, { name }, patch, {
        manager: FIELD_OWNER,
      });
      resourceVersion = written.metadata.resourceVersion;
    }
    await writer.apply(
      MACHINE_CONFIG_NODES,
      {
        metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
        status,
      },
      { manager: FIELD_OWNER, subresource: 'status' },
    );
    return true;
  } catch (error) {
    const failure = failureName(error);
    if (failure !== 'Conflict' && failure !== 'ObjectNotFound') throw error;
    return false;
  }
}
