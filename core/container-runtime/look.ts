/** One look at all ContainerRuntimeConfigs. */

import type { FieldProblem } from '../field-problem';
import {
  CONTAINER_RUNTIME_CONFIG,
  generatedSpec,
  lookAtOrigins,
  type Generated,
  type GeneratedObject,
  type Origin,
  type OriginPicture,
} from '../generated-configs';
import { messageOf } from '../errors';
import type { MachineConfigPool } from '../pool/types';
import type { TomlPort } from '../toml';
import { containerRuntimeFiles } from './generate';
import { machineRuntime } from './machine-runtime';
import { containerRuntimeProblems } from './problems';
import type { ContainerRuntimeConfig, ContainerRuntimeConfiguration } from './types';
import { containerRuntimeRefusal } from './validate';

export interface RuntimePicture extends OriginPicture {
  /** Feature gate AdditionalStorageConfig: without it the additional stores are not written. */
  readonly additionalStorage: boolean;
  readonly toml: TomlPort;
}

export interface RuntimeObject extends GeneratedObject {
  /** Values without the effect that they seem to have. */
  readonly ignored: readonly FieldProblem[];
}

/** In the order of creation. */
export function lookAtRuntimes(picture: RuntimePicture): readonly RuntimeObject[] {
  return lookAtOrigins(CONTAINER_RUNTIME_CONFIG, picture, {
    judge: (origin) => judged(origin, picture),
    saysNothing: { ignored: [] },
  });
}

function judged(origin: Origin, picture: RuntimePicture) {
  const configuration = (origin as ContainerRuntimeConfig).spec.containerRuntimeConfig;
  const refusal = refusalOf(configuration);
  const { additionalStorage } = picture;
  const problems = () => containerRuntimeProblems(configuration ?? {}, { additionalStorage });
  return {
    refusal,
    generate: (pool: MachineConfigPool) => contentFor(configuration ?? {}, pool, picture),
    says: { ignored: refusal === undefined ? problems() : [] },
  };
}

function refusalOf(configuration: ContainerRuntimeConfiguration | undefined): string | undefined {
  if (configuration === undefined) {
    return 'spec.containerRuntimeConfig is missing; write what to change, for example pidsLimit: 4096';
  }
  try {
    return containerRuntimeRefusal(configuration);
  } catch (error) {
    return messageOf(error);
  }
}

function contentFor(
  configuration: ContainerRuntimeConfiguration,
  pool: MachineConfigPool,
  { machineConfigs, gunzip, toml, additionalStorage }: RuntimePicture,
): Generated {
  const runtime = machineRuntime(pool, { gunzip, configNamed: (one) => machineConfigs.get(one) });
  if ('problem' in runtime) return runtime;
  const { name } = pool.metadata;
  if (runtime.containers === undefined) return { problem: ofContainerd(name) };
  const { files, storageError } = containerRuntimeFiles(configuration, {
    ...{ gates: { additionalStorage }, port: toml },
    storageConf: runtime.containers.storageConf,
  });
  if (storageError !== undefined) return { problem: `pool ${name}: ${storageError}` };
  return { spec: generatedSpec({ files }) };
}

/** The kubelet has what containerd has not. */
function ofContainerd(pool: string): string {
  return (
    `the machines of pool ${pool} run containerd, and a ContainerRuntimeConfig is for CRI-O; ` +
    'set podPidsLimit for pidsLimit and containerLogMaxSize for logSizeMax in a KubeletConfig'
  );
}
