/**
 * Which OS image a pool has chosen from the OSImageStream `cluster` by name. One that chooses none
 * has the image of the ControllerConfig, a custom pool that of worker.
 *
 * @see MCO pkg/osimagestream and pkg/controller/render, getOSImageStreamForPool
 */

import { fail } from '../errors';
import { IMAGE_FIX, imageProblem } from '../machine-config/admission-images';
import { listAt, textAt } from '../values-at';
import type { MachineConfigPool } from './types';

/** MCO's name. */
export const OS_IMAGE_STREAM = 'cluster';

const OWN_ONLY: readonly string[] = ['master', 'worker', 'arbiter'];

export interface ChosenStream {
  /** Absent = inherited, so that an image of a MachineConfig of the pool wins. */
  readonly name?: string;
  readonly osImage: string;
  readonly extensionsImage: string;
}

export function streamNameOf(pool: Pick<MachineConfigPool, 'spec'> | undefined): string {
  return pool?.spec.osImageStream?.name ?? '';
}

/** The stream that the pool has chosen or inherits; empty = none. @param ofWorker - that of the pool worker */
export function streamFor(pool: MachineConfigPool, ofWorker: string): string {
  const own = streamNameOf(pool);
  return own === '' && !OWN_ONLY.includes(pool.metadata.name) ? ofWorker : own;
}

/**
 * Undefined = that of the ControllerConfig.
 *
 * @param ofWorker - name of the stream of the pool worker; empty = none
 * @param stored - the OSImageStream; undefined = there is none
 * @throws `InvalidPool` for a stream that is not there, or has an image that no host could take
 */
export function chosenStream(
  pool: MachineConfigPool,
  ofWorker: string,
  stored: unknown,
): ChosenStream | undefined {
  const own = streamNameOf(pool);
  const { name } = pool.metadata;
  const wanted = streamFor(pool, ofWorker);
  if (wanted === '') return undefined;
  const refuse = (problem: string): never => {
    const owner = own === '' ? 'worker' : name;
    const field = 'spec.osImageStream.name';
    const text = `machineconfigpool ${owner}: ${field}: ${problem}`;
    throw fail('InvalidPool', text, { pool: owner, field });
  };
  if (stored === undefined) {
    return refuse(
      `there is no OSImageStream ${OS_IMAGE_STREAM}; set a release (slipway os set --release), or remove the field`,
    );
  }
  const streams = listAt(stored, 'status', 'availableStreams');
  const index = streams.findIndex((stream) => textAt(stream, 'name') === wanted);
  if (index < 0) {
    const names = streams.map((stream) => textAt(stream, 'name') ?? '').join(', ');
    return refuse(
      `OSImageStream ${OS_IMAGE_STREAM} has no stream ${wanted}; ${names === '' ? 'it has none, so remove the field' : `write one of ${names}, or remove the field`}`,
    );
  }
  const imageAt = (field: string): string => {
    const image = textAt(streams[index], field);
    const problem = image === undefined || image === '' ? 'is missing' : imageProblem(image);
    if (problem === undefined && image !== undefined) return image;
    const place = `OSImageStream ${OS_IMAGE_STREAM}, status.availableStreams[${index}].${field}`;
    return refuse(`${place}: ${problem}; ${IMAGE_FIX}`);
  };
  return {
    ...(own === '' ? {} : { name: own }),
    osImage: imageAt('osImage'),
    extensionsImage: imageAt('osExtensionsImage'),
  };
}

/** The stream that has this OS image; undefined = none. @param stored - the OSImageStream */
export function streamWith(stored: unknown, osImage: string): string | undefined {
  if (osImage === '') return undefined;
  const streams = listAt(stored, 'status', 'availableStreams');
  return textAt(
    streams.find((stream) => textAt(stream, 'osImage') === osImage),
    'name',
  );
}
