/** Carries out what a look at an object decided, in its order. */

import type { CacheView } from '../../adapters/kube/cache';
import { MACHINE_CONFIGS, type Resource } from '../../adapters/kube/resources';
import type { ConfigWrite, Origin, Write } from '../../core/generated-configs';
import type { MachineConfig } from '../../core/machine-config';
import type { Writer } from '../fenced-writer';

export interface PlanTarget {
  readonly writer: Writer;
  readonly machineConfigs: Pick<CacheView<MachineConfig>, 'get'>;
  /** Field manager. */
  readonly manager: string;
}

/**
 * Stops at the first write that fails; the next look decides anew.
 *
 * @param origin - of this resource, as the look saw it
 * @throws what the API server answers: `Conflict` when the object has changed since
 */
export async function writePlan(
  target: PlanTarget,
  resource: Resource<Origin>,
  origin: Origin,
  writes: readonly Write[],
): Promise<void> {
  const { writer, manager } = target;
  const { name, uid, resourceVersion } = origin.metadata;
  for (const write of writes) {
    if (write.do === 'mark') {
      const { annotations, finalizers } = write;
      const metadata = { resourceVersion, annotations, finalizers };
      await writer.patch(resource, { name }, { metadata }, { manager });
    } else if (write.do === 'status') {
      const { conditions, observedGeneration } = write;
      const metadata = { name, ...(uid === undefined ? {} : { uid }) };
      const object = { metadata, status: { conditions, observedGeneration } };
      await writer.apply(resource, object, { manager, subresource: 'status' });
    } else await writeConfig(target, write);
  }
}

/** Creates, puts right or removes a MachineConfig. */
export async function writeConfig(
  { writer, machineConfigs, manager }: PlanTarget,
  write: ConfigWrite,
): Promise<void> {
  if (write.do === 'create') {
    await writer.create(MACHINE_CONFIGS, write.config, manager);
    return;
  }
  const name = write.do === 'remove' ? write.name : write.config.metadata.name;
  const before = machineConfigs.get(name);
  if (before === undefined) return;
  if (write.do === 'remove') await writer.delete(MACHINE_CONFIGS, before);
  else
    await writer.patch(MACHINE_CONFIGS, { name }, putRight(before, write.config), {
      manager,
      kind: 'json',
    });
}

/** The labels and annotations of others stay. */
function putRight(
  { metadata: { uid, labels, annotations } }: MachineConfig,
  { metadata, spec }: MachineConfig,
): object {
  const { ownerReferences = [] } = metadata;
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'add', path: '/metadata/labels', value: { ...labels, ...metadata.labels } },
    {
      op: 'add',
      path: '/metadata/annotations',
      value: { ...annotations, ...metadata.annotations },
    },
    { op: 'add', path: '/metadata/ownerReferences', value: ownerReferences },
    { op: 'replace', path: '/spec', value: spec },
  ];
}
