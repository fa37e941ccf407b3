import type { MachineConfig, RenderedSpec } from '../../../core/machine-config/types';

/** Differs from others by a kernel argument, its name: a change that reboots. */
export function rendered(name: string): MachineConfig {
  const spec: RenderedSpec = {
    osImageURL: 'os@sha256:1',
    baseOSExtensionsContainerImage: '',
    config: { ignition: { version: '3.5.0' } },
    kernelArguments: [name],
    extensions: [],
    fips: false,
    kernelType: 'default',
  };
  return { metadata: { name }, spec };
}
