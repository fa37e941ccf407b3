/**
 * The first config of a machine: the rendered config of its pool, and files for the time after
 * Ignition. Pure, so that equal inputs give equal configs.
 *
 * @see MCO pkg/server/server.go (7ff337a4), getAppenders
 */

import { decodeBase64, encodeDataUrl, goJson } from '../encoding';
import { fail } from '../errors';
import type { BundleFile } from '../host-bundle';
import {
  convertIgnitionTo,
  EMPTY_IGNITION,
  listOf,
  parseAndConvert,
  readRawIgnition,
  structOf,
  without,
  type IgnitionObject,
  type OutputVersion,
  type RenderPorts,
} from '../ignition';
import type { MachineConfig } from '../machine-config/types';
import { ANNOTATION, MCO_GROUP, MCO_VERSION, NodeState } from '../names';
import {
  findObstacle,
  FIRST_BOOT_FILE,
  withFiles,
  withMissingFiles,
  withReplacedFiles,
  type FirstBootFile,
} from './files';

/** The cluster's additions to every first config; each may be missing. */
export interface FirstBootFacts {
  /** Contents of the kubeconfig for bootstrapping; absent = the OS image or the config has one. */
  readonly kubeconfig?: string;
  /** PEM in base 64, as in the ControllerConfig: the authority of the API server's certificates. */
  readonly kubeletAuthority?: string;
  /** PEM in base 64: the authority of the cloud's API. */
  readonly cloudAuthority?: string;
  /** Authorities of registries by `host[:port]`, PEM. */
  readonly registryAuthorities?: Readonly<Record<string, string>>;
  /** Files of the bundle of the pool, without the two authorities above: they win over the registries. */
  readonly bundleFiles?: readonly BundleFile[];
}

interface FirstBootInput {
  readonly machineConfig: MachineConfig;
  /** Its Ignition in 3.5, by {@link readServedIgnition}: parsed once for all versions. */
  readonly ignition: IgnitionObject;
  readonly facts: FirstBootFacts;
  readonly version: OutputVersion;
}

/** @throws InvalidIgnition when the Ignition of the MachineConfig is invalid */
export function readServedIgnition(
  machineConfig: MachineConfig,
  ports: Pick<RenderPorts, 'gunzip'>,
): IgnitionObject {
  return parseAndConvert(readRawIgnition(machineConfig.spec.config, ports));
}

/**
 * The first config as JSON text in the requested version.
 *
 * @throws InvalidIgnition naming what the version cannot express, InvalidMachineConfig for an
 * authority that is not base 64, and for an entry at the path of an added file
 */
export function firstBootConfig(input: FirstBootInput): string {
  const { machineConfig, ignition } = withKernelArguments(input);
  const { name } = machineConfig.metadata;
  const { facts, version } = input;
  const annotated = withFiles(ignition, [
    { path: FIRST_BOOT_FILE.NODE_ANNOTATIONS, contents: goJson(annotationsOf(name)) },
  ]);
  const bootstrapping = withMissingFiles(
    annotated,
    optional(FIRST_BOOT_FILE.KUBECONFIG, facts.kubeconfig),
  );
  const served = withFiles(bootstrapping, [
    { path: FIRST_BOOT_FILE.SERVED_CONFIG, contents: JSON.stringify(machineConfig, null, 4) },
  ]);
  const first = withMissingFiles(served, filesBeside(facts));
  const second = withReplacedFiles(first, [
    ...authority(FIRST_BOOT_FILE.KUBELET_AUTHORITY, facts.kubeletAuthority),
    ...authority(FIRST_BOOT_FILE.CLOUD_AUTHORITY, facts.cloudAuthority),
  ]);
  // Last, because a program that waits for this file expects the others, too.
  const whole = withFiles(second, [
    {
      path: FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
      contents: goJson(encapsulated(machineConfig, version)),
    },
  ]);
  if (version !== '2.2') refuseObstacle(name, whole);
  return goJson(convertIgnitionTo(whole, version));
}

/** The config itself was valid, so the obstacle is a file that was added. */
function refuseObstacle(name: string, whole: IgnitionObject): void {
  const found = findObstacle(whole);
  if (found === undefined) return;
  const { kind, at, file } = found;
  throw fail(
    'InvalidMachineConfig',
    `cannot serve ${name}: its ${kind} ${at} is in the way of ${file}, which every first config has; take it out of the MachineConfig that brings it`,
  );
}

/** By path: hosts get them anew whenever they change. */
function filesBeside({
  registryAuthorities = {},
  bundleFiles = [],
}: FirstBootFacts): readonly FirstBootFile[] {
  const files = new Map<string, FirstBootFile>();
  for (const [registry, contents] of Object.entries(registryAuthorities)) {
    const path = `/etc/docker/certs.d/${registry}/ca.crt`;
    files.set(path, { path, contents });
  }
  for (const { path, mode, content } of bundleFiles) {
    const source = encodeDataUrl(Buffer.from(content, 'base64'));
    files.set(path, { path, mode, contents: { source } });
  }
  return [...files.values()];
}

/** The annotations of a Node that is on the config from its first moment. */
function annotationsOf(name: string): Readonly<Record<string, string>> {
  return {
    [ANNOTATION.CURRENT_CONFIG]: name,
    [ANNOTATION.DESIRED_CONFIG]: name,
    [ANNOTATION.FIRST_PIVOT_CONFIG]: name,
    [ANNOTATION.STATE]: NodeState.DONE,
  };
}

/**
 * Its Ignition has run when this file is read, so the file holds an empty Ignition that its readers
 * accept.
 */
function encapsulated(machineConfig: MachineConfig, version: OutputVersion): MachineConfig {
  const config = version === '2.2' ? { ignition: { version: '2.2.0' } } : EMPTY_IGNITION;
  return { ...machineConfig, spec: { ...machineConfig.spec, config } };
}

/**
 * Ignition applies kernel arguments since 3.3; for older versions they follow those of the
 * MachineConfig. An annotation counts them, so that the machine also knows the rendered config of
 * the cluster.
 */
function withKernelArguments({
  machineConfig,
  ignition,
  version,
}: FirstBootInput): Pick<FirstBootInput, 'machineConfig' | 'ignition'> {
  const served = asServed(machineConfig);
  if (!['2.2', '3.1', '3.2'].includes(version)) return { machineConfig: served, ignition };
  const kernel = structOf(ignition['kernelArguments']);
  if (listOf(kernel['shouldNotExist']).length > 0) {
    throw fail(
      'InvalidIgnition',
      `cannot serve ${machineConfig.metadata.name} as Ignition ${version}: kernelArguments.shouldNotExist needs 3.3`,
    );
  }
  const moved = (kernel['shouldExist'] as readonly string[] | undefined) ?? [];
  if (moved.length === 0) {
    return { machineConfig: served, ignition: without(ignition, 'kernelArguments') };
  }
  const kernelArguments = [...(machineConfig.spec.kernelArguments ?? []), ...moved];
  const annotations = {
    ...served.metadata.annotations,
    [ANNOTATION.MOVED_KERNEL_ARGUMENTS]: String(moved.length),
  };
  return {
    machineConfig: {
      ...served,
      metadata: { ...served.metadata, annotations },
      spec: { ...served.spec, kernelArguments },
    },
    ignition: without(ignition, 'kernelArguments'),
  };
}

/** With its kind, which objects of a list lack, and without managed fields. */
function asServed(machineConfig: MachineConfig): MachineConfig {
  const metadata = Object.fromEntries(
    Object.entries(machineConfig.metadata).filter(([field]) => field !== 'managedFields'),
  ) as unknown as MachineConfig['metadata'];
  return {
    ...machineConfig,
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'MachineConfig',
    metadata,
  };
}

function optional(path: string, contents: string | undefined): readonly FirstBootFile[] {
  return contents === undefined ? [] : [{ path, contents }];
}

function authority(path: string, base64: string | undefined): readonly FirstBootFile[] {
  if (base64 === undefined || base64 === '') return [];
  const decoded = decodeBase64(base64);
  if ('error' in decoded) {
    throw fail(
      'InvalidMachineConfig',
      `the authority for ${path} in the ControllerConfig is not base 64: ${decoded.error}`,
    );
  }
  return [{ path, contents: { source: encodeDataUrl(decoded.bytes) } }];
}
