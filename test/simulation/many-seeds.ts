import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';
import { bundleWorkflows } from '../../tools/workflow-bundle';
import { runSeed, type Outcome } from './run-seed';
import { stormyScenario, type Given } from './scenario';
import { Sandbox } from './temporal/sandbox';

/** The workflows as they are shipped. */
export async function shippedSandbox(): Promise<Sandbox> {
  const path = join(repositoryRoot(), 'node_modules', '.cache', 'slipway', 'workflow-bundle.js');
  await bundleWorkflows(path);
  return Sandbox.fromFile(path);
}

/** Runs seeds one after the other. @throws with the seed and its last events when one breaks something */
export async function expectSound(
  sandbox: Sandbox,
  seeds: readonly number[],
  given: Given = {},
): Promise<number> {
  let events = 0;
  for (const seed of seeds) {
    const outcome = await runSeed(seed, { sandbox, scenario: stormyScenario(seed, given) });
    if (outcome.violations.length > 0) throw new Error(story(outcome, given));
    events += outcome.events;
  }
  return events;
}

/** The last events of a seed, what they broke, and how to see exactly that again. */
export function story(
  { seed, violations, trace, scenario }: Outcome,
  given: Told = {},
  lines = 60,
): string {
  const { nodes, pools, incidents } = scenario;
  const limits = pools.map(({ name, maxUnavailable }) => `${name} ${maxUnavailable}`).join(', ');
  return [
    ...(lines === 0 ? [] : trace.last(lines)),
    `seed ${seed} (${nodes} nodes, maxUnavailable ${limits}, ${incidents} incidents) breaks`,
    ...violations.map(({ invariant, what }) => `  ${invariant}: ${what}`),
    again(seed, given),
  ].join('\n');
}

/** What a seed is run with, as `npm run fuzz` is told it. */
type Told = Given & { readonly plant?: string };

/** The command that runs exactly that once more. */
export function again(seed: number, { storm, plain, plant }: Told = {}): string {
  const flags = [
    `--seeds 1 --from ${seed}`,
    ...(storm === undefined ? [] : [`--storm ${Math.round(storm * 100)}`]),
    ...(plain === true ? ['--plain'] : []),
    ...(plant === undefined ? [] : [`--plant ${plant}`]),
  ];
  return `again: npm run fuzz -- ${flags.join(' ')}`;
}
