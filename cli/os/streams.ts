/** Image streams of pools, beside the image of the cluster. */

import type { RegistryClient } from '../../adapters/registry';
import { streamFor, streamNameOf } from '../../core/pool/image-stream';
import type { MachineConfigPool } from '../../core/pool/types';
import type { CliOs } from './cluster-os';
import { namedStreams, type WantedImages } from './wanted-images';

const OBJECT = 'OSImageStream cluster';

/** Pools that the image of the cluster does not reach. */
export function streamsKept(pools: readonly MachineConfigPool[]): readonly string[] {
  return choices(pools).map(
    ({ pool, stream }) => `pool ${pool} keeps stream ${stream} of ${OBJECT}`,
  );
}

/**
 * Writes the operating systems of a release, if it has several or pools may have chosen from those of
 * an earlier one.
 */
export async function setStreams(
  os: CliOs,
  pools: readonly MachineConfigPool[],
  { osImage, release }: WantedImages,
  registry: RegistryClient,
): Promise<readonly string[]> {
  if (release === undefined) return [];
  if (release.streams.length < 2 && !(await os.hasStreams())) return [];
  const streams = await namedStreams(registry, release);
  const [first] = streams;
  if (first === undefined) {
    return [`${OBJECT} stays as it is: this release names no OS image with an extensions image`];
  }
  const usual = streams.find((stream) => stream.osImage === osImage) ?? first;
  if (!(await os.setStreams(streams, usual.name))) return [];
  const names = streams.map(({ name }) => name);
  const lost = choices(pools).filter(({ stream }) => !names.includes(stream));
  return [
    `${OBJECT}: ${names.join(', ')}`,
    ...lost.map(
      ({ pool, stream }) =>
        `pool ${pool} keeps its config: it has chosen stream ${stream}, which this release does not have`,
    ),
  ];
}

function choices(
  pools: readonly MachineConfigPool[],
): readonly { readonly pool: string; readonly stream: string }[] {
  const ofWorker = streamNameOf(pools.find(({ metadata }) => metadata.name === 'worker'));
  return pools.flatMap((pool) => {
    const stream = streamFor(pool, ofWorker);
    return stream === '' ? [] : [{ pool: pool.metadata.name, stream }];
  });
}
