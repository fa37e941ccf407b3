/** Reads `rpm-ostree status --json`, whose fields new versions only extend. */

import { EXTENSIONS } from '../../../core/machine-config/extensions';
import { imageDigest } from '../../../core/os';
import { readJson, type JsonFields } from './json-fields';

export interface RpmOstreeDeployment {
  /** In the boot order. */
  readonly index: number;
  /** `CHECKSUM.SERIAL`, its ID in every driver. */
  readonly id: string;
  readonly booted: boolean;
  readonly staged: boolean;
  readonly locked: boolean;
  /** Without ostree's prefix. Absent: it tracks an ostree branch. */
  readonly image?: string;
  readonly digest?: string;
  /** Requested by name. */
  readonly packages: readonly string[];
  /** Base packages, removed on request. */
  readonly removals: readonly string[];
}

export type KernelType = 'default' | 'realtime' | '64k-pages';

const PROGRAM = 'rpm-ostree status --json';

/** @throws `OsCommandFailed` naming the field of an unknown format */
export function readRpmOstreeStatus(output: string): readonly RpmOstreeDeployment[] {
  const status = readJson(PROGRAM, output);
  const deployments = status.objects('deployments').map(readDeployment);
  if (!deployments.some(({ booted }) => booted)) {
    throw status.refuse('deployments', 'a list with the booted deployment');
  }
  return deployments;
}

/**
 * Undefined = no transaction runs.
 *
 * @see https://github.com/coreos/rpm-ostree src/app/rpmostree-builtin-status.cxx (00cd0878)
 * @throws `OsCommandFailed` as `readRpmOstreeStatus`
 */
export function readTransaction(output: string): string | undefined {
  return readJson(PROGRAM, output).texts('transaction')[0];
}

function readDeployment(fields: JsonFields, index: number): RpmOstreeDeployment {
  const reference = fields.optionalText('container-image-reference');
  const digest = digestOf(fields, reference);
  const staged = fields.flag('staged');
  return {
    index,
    id: `${fields.text('checksum')}.${fields.count('serial')}`,
    booted: fields.flag('booted'),
    staged,
    locked: staged && fields.flag('finalization-locked'),
    ...(reference === undefined ? {} : { image: pullSpecOf(reference) }),
    ...(digest === undefined ? {} : { digest }),
    packages: [...fields.texts('requested-packages')].sort(),
    removals: [...fields.texts('requested-base-removals')].sort(),
  };
}

/** Versions before 2021.8 have it only in the commit's metadata. */
function digestOf(fields: JsonFields, reference: string | undefined): string | undefined {
  return (
    fields.optionalText('container-image-reference-digest') ??
    fields.optionalObject('base-commit-meta')?.optionalText('ostree.manifest-digest') ??
    (reference === undefined ? undefined : imageDigest(reference))
  );
}

/** Verification, then transport. */
const VERIFICATION =
  /^(?:ostree-unverified-registry:|ostree-(?:unverified-image|image-signed):|ostree-remote-(?:registry|image):[^:]+:)/;
const REGISTRY = /^(?:docker:\/\/|registry:)/;

/** `ostree-unverified-registry:HOST/NAME@DIGEST` → `HOST/NAME@DIGEST`; other transports stay. */
export function pullSpecOf(reference: string): string {
  return reference.replace(VERIFICATION, '').replace(REGISTRY, '');
}

/** Extensions whose packages were all requested. */
export function extensionsOf(packages: readonly string[]): readonly string[] {
  const present = new Set(packages);
  return Object.entries(EXTENSIONS)
    .filter(([, members]) => members.every((member) => present.has(member)))
    .map(([name]) => name)
    .sort();
}

export function kernelTypeOf(packages: readonly string[]): KernelType {
  if (packages.includes('kernel-rt-core')) return 'realtime';
  return packages.includes('kernel-64k-core') ? '64k-pages' : 'default';
}
