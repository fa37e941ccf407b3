/** The product's render: MCO's render with corrections of its errors. */

import type { IgnitionObject } from '../ignition';
import { refuseInvalidMerge } from './admission-merged';
import { ignitionReasonOnHosts, withReadableAppends } from './appends';
import { asOwnGenerations } from './generations';
import { refuseOversized } from './limits';
import { renderMachineConfig, type RenderedMachineConfig, type RenderInput } from './render';

/**
 * Renders like `renderMachineConfig`, but accepts files that append and MachineConfigs that other
 * controllers generated, and refuses a merged config that nobody could read again or no host takes.
 * Otherwise the result is MCO's to the byte.
 *
 * @throws what `renderMachineConfig` throws
 */
export function renderForHosts(input: Omit<RenderInput, 'corrections'>): RenderedMachineConfig {
  const { pool, ports, sources, controllerConfig } = input;
  return renderMachineConfig({
    ...input,
    sources: asOwnGenerations(sources, controllerConfig.controllerVersion),
    corrections: {
      merged: (config, sources) => {
        const readable = withReadableAppends(config);
        refuseInvalidMerge(readable, sources, ports);
        refuseOversized(readable as unknown as IgnitionObject, pool);
        return readable;
      },
      reason: ignitionReasonOnHosts,
    },
  });
}
