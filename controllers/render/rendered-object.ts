import { fail } from '../../core/errors';
import {
  MAX_OBJECT_BYTES,
  type MachineConfig,
  type RenderedMachineConfig,
} from '../../core/machine-config';
import { MCO_GROUP, MCO_VERSION } from '../../core/names';
import type { MachineConfigPool, PoolConfiguration } from '../../core/pool/types';

const API_VERSION = `${MCO_GROUP}/${MCO_VERSION}`;

/** For the API server's additions: times, UID, managed fields. */
const SERVER_BYTES = 4 * 1024;

/**
 * Owned by its pool, so that it is deleted with it.
 *
 * @throws `ConfigTooLarge` with the size, when etcd would refuse it
 */
export function renderedObject(
  rendered: Pick<RenderedMachineConfig, 'name' | 'annotations' | 'spec'>,
  pool: MachineConfigPool,
): MachineConfig {
  const { name, uid = '' } = pool.metadata;
  const owner = { apiVersion: API_VERSION, kind: 'MachineConfigPool', name, uid };
  const object: MachineConfig = {
    apiVersion: API_VERSION,
    kind: 'MachineConfig',
    metadata: {
      name: rendered.name,
      annotations: rendered.annotations,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: rendered.spec,
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(object)) + SERVER_BYTES;
  if (sizeBytes <= MAX_OBJECT_BYTES) return object;
  throw fail(
    'ConfigTooLarge',
    `the rendered config of pool ${name} has ${sizeBytes} bytes, and the API server stores at most ` +
      `${MAX_OBJECT_BYTES}; compress large files (compression: gzip), or move data out`,
    { sizeBytes, maxBytes: MAX_OBJECT_BYTES },
  );
}

/** `spec.configuration` of the pool, sorted by name. */
export function configurationOf(
  rendered: Pick<RenderedMachineConfig, 'name'>,
  sources: readonly MachineConfig[],
): PoolConfiguration {
  return {
    name: rendered.name,
    source: sources.map(({ metadata }) => ({
      apiVersion: API_VERSION,
      kind: 'MachineConfig',
      name: metadata.name,
    })),
  };
}
