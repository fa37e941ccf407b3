/** MachineConfig and the Ignition 3.5 fields that Slipway reads. Unknown fields pass through. */

import type { ObjectMeta } from '../object-meta';

/** A source of machine state, or a rendered config. */
export interface MachineConfig {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: MachineConfigSpec;
}

/** `spec` as users write it: every field may be missing, `config` is any Ignition version. */
export interface MachineConfigSpec {
  readonly osImageURL?: string;
  readonly baseOSExtensionsContainerImage?: string;
  /** Raw Ignition (an object, or a string that is JSON, base64 and/or gzip of one). */
  readonly config?: unknown;
  readonly kernelArguments?: readonly string[];
  readonly extensions?: readonly string[];
  readonly fips?: boolean;
  readonly kernelType?: string;
}

/** `spec` of a rendered config: every field present, `config` is Ignition 3.5.0. */
export interface RenderedSpec {
  readonly osImageURL: string;
  readonly baseOSExtensionsContainerImage: string;
  readonly config: IgnitionConfig;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly fips: boolean;
  readonly kernelType: string;
}

/** Ignition 3.5 config, the parts that Slipway acts on. */
export interface IgnitionConfig {
  readonly ignition: { readonly version: string; readonly [key: string]: unknown };
  readonly passwd?: {
    readonly users?: readonly IgnitionUser[];
    readonly groups?: readonly unknown[];
  };
  readonly storage?: {
    readonly files?: readonly IgnitionFile[];
    readonly directories?: readonly IgnitionDirectory[];
    readonly links?: readonly unknown[];
    readonly disks?: readonly unknown[];
    readonly raid?: readonly unknown[];
    readonly filesystems?: readonly unknown[];
    readonly luks?: readonly unknown[];
  };
  readonly systemd?: { readonly units?: readonly IgnitionUnit[] };
  readonly kernelArguments?: {
    readonly shouldExist?: readonly string[];
    readonly shouldNotExist?: readonly string[];
  };
}

export interface IgnitionUser {
  readonly name: string;
  readonly passwordHash?: string;
  readonly sshAuthorizedKeys?: readonly string[];
  readonly [key: string]: unknown;
}

/** `source` is a data URL on a host; `compression` is '' or 'gzip'. */
export interface IgnitionResource {
  readonly source?: string;
  readonly compression?: string;
  readonly verification?: { readonly hash?: string };
  readonly httpHeaders?: readonly unknown[];
}

/** Created by Ignition on a new machine; a host reads it only to create it again. */
export interface IgnitionDirectory {
  readonly path: string;
  /** Permission bits as a decimal integer; absent = 0755. */
  readonly mode?: number;
  readonly user?: { readonly id?: number; readonly name?: string };
  readonly group?: { readonly id?: number; readonly name?: string };
}

export interface IgnitionFile {
  readonly path: string;
  readonly overwrite?: boolean;
  /** Permission bits as a decimal integer; absent = 0644. */
  readonly mode?: number;
  readonly user?: { readonly id?: number; readonly name?: string };
  readonly group?: { readonly id?: number; readonly name?: string };
  readonly contents?: IgnitionResource;
  readonly append?: readonly IgnitionResource[];
}

interface IgnitionDropin {
  readonly name: string;
  readonly contents?: string;
}

export interface IgnitionUnit {
  readonly name: string;
  readonly contents?: string;
  /** Absent = by preset. */
  readonly enabled?: boolean;
  readonly mask?: boolean;
  readonly dropins?: readonly IgnitionDropin[];
}
