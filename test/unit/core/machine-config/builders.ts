/** MachineConfigs and other inputs of rendering, for tests. */

import type { RenderControllerConfig, RenderInput } from '../../../../core/machine-config';
import type { MachineConfig, MachineConfigSpec } from '../../../../core/machine-config/types';
import { LABEL } from '../../../../core/names';
import { nodePorts } from '../../../conformance/render-ports';

export const CONTROLLER: RenderControllerConfig = {
  baseOSContainerImage: 'registry.example/os@sha256:1',
  baseOSExtensionsContainerImage: 'registry.example/extensions@sha256:2',
  releaseVersion: '1.2.3',
  controllerVersion: 'abc',
};

/** A MachineConfig, of role worker by default. */
export function machineConfig(
  name: string,
  spec: MachineConfigSpec = {},
  metadata: Partial<MachineConfig['metadata']> = {},
): MachineConfig {
  return { metadata: { name, labels: { [LABEL.ROLE]: 'worker' }, ...metadata }, spec };
}

export function ignition(sections: object = {}): object {
  return { ignition: { version: '3.5.0' }, ...sections };
}

export function files(...list: readonly object[]): object {
  return ignition({ storage: { files: list } });
}

export function units(...list: readonly object[]): object {
  return ignition({ systemd: { units: list } });
}

export function renderInput(
  sources: readonly MachineConfig[],
  more: Partial<RenderInput> = {},
): RenderInput {
  return { pool: 'worker', sources, controllerConfig: CONTROLLER, ports: nodePorts, ...more };
}
