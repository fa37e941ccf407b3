/** From a rendered config to the bytes that machines get, in every encoding. */

import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { MachineConfig as Schema } from '../../adapters/api-schemas';
import { failureName, messageOf } from '../../core/errors';
import { firstBootConfig, readServedIgnition, type FirstBootFacts } from '../../core/first-boot';
import type { IgnitionObject, OutputVersion } from '../../core/ignition';
import type { MachineConfig } from '../../core/machine-config/types';
import type { Encoding } from './encodings';
import { readObject } from './manifests';

/** A text in which the rendered config is: reading a large one takes its time, too. */
export interface Manifest {
  readonly manifest: string;
  /** How messages name it. */
  readonly what: string;
}

/** What is prepared: one config in one version. Plain data: it goes to a thread. */
export interface PrepareJob {
  /** The rendered config. */
  readonly machineConfig: MachineConfig | Manifest;
  readonly facts: FirstBootFacts;
  readonly version: OutputVersion;
  /** A first config of more bytes is refused. */
  readonly maxBytes: number;
}

export type Prepared =
  | {
      readonly state: 'ready';
      readonly bytes: Readonly<Record<Encoding, Uint8Array>>;
      /** SHA-256 of the plain bytes, hex. */
      readonly digest: string;
    }
  | { readonly state: 'too-large'; readonly size: number; readonly limit: number }
  /** This version cannot say what is in the config, or nobody can use it in any. */
  | { readonly state: 'refused'; readonly of: 'version' | 'config'; readonly reason: string };

/** Prepares somewhere else than in the event loop that answers requests. */
export interface Preparer {
  prepare(job: PrepareJob): Promise<Prepared>;
  /** Ends what is under way, whose promises reject. */
  close(): Promise<void>;
}

/** No config that an API server stores is larger; a gzip bomb is refused instead of inflated. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

/** Prepares here and now, which takes some hundred milliseconds for a large config. */
export function prepareNow(job: PrepareJob): Prepared {
  let text: string;
  let ignition: IgnitionObject | undefined;
  try {
    const machineConfig = readManifest(job.machineConfig);
    ignition = readServedIgnition(machineConfig, {
      gunzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_INFLATED_BYTES }),
    });
    text = firstBootConfig({ ...job, machineConfig, ignition });
  } catch (error) {
    const failure = failureName(error);
    if (failure === undefined) throw error;
    const isOfVersion = ignition !== undefined && failure === 'InvalidIgnition';
    return { state: 'refused', of: isOfVersion ? 'version' : 'config', reason: messageOf(error) };
  }
  const identity = Buffer.from(text);
  if (identity.length > job.maxBytes) {
    return { state: 'too-large', size: identity.length, limit: job.maxBytes };
  }
  return {
    state: 'ready',
    bytes: { identity, gzip: gzipSync(identity), zstd: zstdCompressSync(identity) },
    digest: createHash('sha256').update(identity).digest('hex'),
  };
}

function readManifest(given: PrepareJob['machineConfig']): MachineConfig {
  if (!('manifest' in given)) return given;
  return readObject(Schema, given.manifest, given.what);
}
