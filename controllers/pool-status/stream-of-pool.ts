import { PoolCondition } from '../../core/names';
import { isConditionTrue } from '../../core/pool/conditions';
import { OS_IMAGE_STREAM, streamWith } from '../../core/pool/image-stream';
import type { PoolStatus } from '../../core/pool/status';
import type { ClusterPicture } from '../cluster-picture';

/**
 * Names the stream whose OS image all nodes have; none while the pool is updating or degraded.
 *
 * @see MCO pkg/controller/node/status.go
 */
export function withStream(
  { osImageStream: _before, ...status }: PoolStatus,
  { machineConfigs, osImageStreams }: Pick<ClusterPicture, 'machineConfigs' | 'osImageStreams'>,
): PoolStatus {
  const isThere =
    isConditionTrue(status.conditions, PoolCondition.UPDATED) &&
    !isConditionTrue(status.conditions, PoolCondition.DEGRADED);
  const config = machineConfigs.get(status.configuration?.name ?? '');
  const name = streamWith(osImageStreams.get(OS_IMAGE_STREAM), config?.spec.osImageURL ?? '');
  return isThere && name !== undefined ? { ...status, osImageStream: { name } } : status;
}
