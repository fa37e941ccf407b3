import type { FirstBootFacts } from '../../../../core/first-boot';
import type { MachineConfig } from '../../../../core/machine-config/types';
import { missing, type ConfigSource, type ServedConfig } from '../../../../server/ignition/source';

/** A source in memory that never changes. */
export function fixedSource(
  configs: readonly {
    readonly pool: string;
    readonly machineConfig: MachineConfig;
    readonly facts?: FirstBootFacts;
  }[],
): ConfigSource {
  const byPool = new Map(
    configs.map(({ pool, machineConfig, facts = {} }): [string, ServedConfig] => {
      const { name } = machineConfig.metadata;
      return [pool, { pool, name, key: name, machineConfig, facts }];
    }),
  );
  return {
    look(pool) {
      const served = byPool.get(pool);
      return served === undefined
        ? missing(500, 'unknown-pool', `there is no pool ${pool}`)
        : { served };
    },
    ageSeconds: () => 0,
  };
}
