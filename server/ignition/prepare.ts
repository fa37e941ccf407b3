import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { MachineConfig as Schema } from '../../adapters/api-schemas';
import { failureName, messageOf } from '../../core/errors';
import { firstBootConfig, readServedIgnition, type FirstBootFacts } from '../../core/first-boot';
import type { IgnitionObject, OutputVersion } from '../../core/ignition';
import type { MachineConfig } from '../../core/machine-config/types';
import type { Encoding } from './encodings';
import { readObject } from './manifests';

/** As text: parsing a large one belongs in the thread, too. */
export interface Manifest {
  readonly manifest: string;
  readonly what: string;
}

/** Plain data for a thread. */
export interface PrepareJob {
  readonly machineConfig: MachineConfig | Manifest;
  readonly facts: FirstBootFacts;
  readonly version: OutputVersion;
  /** A larger first config is refused. */
  readonly maxBytes: number;
}

export type Prepared =
  | {
      readonly state: 'ready';
      readonly bytes: Readonly<Record<Encoding, Uint8Array>>;
      readonly digest: string;
    }
  | { readonly state: 'too-large'; readonly size: number; readonly limit: number }
  /** This version cannot express the config, or the config is unusable in any. */
  | { readonly state: 'refused'; readonly of: 'version' | 'config'; readonly reason: string };

/** Outside the event loop that answers requests. */
export interface Preparer {
  prepare(job: PrepareJob): Promise<Prepared>;
  /** Running work rejects. */
  close(): Promise<void>;
}

/** Larger than any config that an API server stores; a gzip bomb is refused. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

/** Takes some hundred milliseconds for a large config. */
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
