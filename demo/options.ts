import { Command } from 'commander';
import { wholeNumber } from '../tools/whole-number';

export interface DemoOptions {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly keep: boolean;
  /** Shorten the simulated reboots. */
  readonly fast: boolean;
  /** Use three real machines instead of simulated hosts; needs root. */
  readonly hosts: boolean;
}

export function parseDemoOptions(argv: readonly string[]): DemoOptions {
  return new Command('demo')
    .description('A rollout on a real cluster and a real Temporal server, with simulated hosts.')
    .option('--nodes <count>', 'worker nodes', wholeNumber(4, 200), 12)
    .option(
      '--max-unavailable <count>',
      'nodes that may be unavailable at once',
      wholeNumber(1, 100),
      3,
    )
    .option('--keep', 'leave everything running until Ctrl-C', false)
    .option('--fast', 'shorter simulated reboots', false)
    .option('--hosts', 'three machines that really boot, in containers; needs root', false)
    .parse([...argv], { from: 'user' })
    .opts<DemoOptions>();
}
