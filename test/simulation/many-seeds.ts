import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';
import { bundleWorkflows } from '../../tools/workflow-bundle';
import { runSeed, type Outcome } from './run';
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
  given: Given = {},
  lines = 60,
): string {
  const { nodes, pools, incidents } = scenario;
  const limits = pools.map(({ name, maxUnavailable }) => `${name} ${maxUnavailable}`).join(', ');
  return [
    ...(lines === 0 ? [] : trace.last(lines)),
    `seed ${seed} (${nodes} nodes, maxUnavailable ${limits}, ${incidents} incidents) breaks`,
    ...violations.map(({ invariant, what }) => `  ${invariant}: ${what}`),
    `again: npm run fuzz -- --seeds 1 --from ${seed}${flagsOf(given)}`,
  ].join('\n');
}

function flagsOf({ storm, plain }: Given): string {
  const weather = storm === undefined ? '' : ` --storm ${Math.round(storm * 100)}`;
  return plain === true ? `${weather} --plain` : weather;
}
