import { describeViolation } from '../../observer/violation';
import { openJournals, wrongOnDisk } from '../../e2e/support/disk-at-rest';
import { cordonedBySlipway, rebootsOf, unverified, type Mark } from '../../e2e/support/judgements';
import { untilLogged } from '../../e2e/support/logs';
import { renderedConfigs } from '../../e2e/support/rendered-config';
import type { World } from '../../e2e/support/world';

/**
 * Waits for the end of the rollout, and checks every promise: cluster, disks, journals.
 *
 * @param reboots - false = services were reloaded or restarted, and no machine may have rebooted
 */
export async function expectRest(
  world: World,
  config: string,
  mark: Mark,
  reboots = true,
): Promise<void> {
  await world.allUpdatedTo(config);
  await expectWell(world, config, mark, reboots);
}

/** For a pool whose nodes all have the config. */
export async function expectWell(
  world: World,
  config: string,
  mark: Mark,
  reboots = true,
): Promise<void> {
  const { record, workers, stack } = world;
  const configs = await renderedConfigs(world.api);
  for (const node of workers) {
    expect([node, rebootsOf(record, node, mark)]).toEqual([node, reboots ? [config] : []]);
    expect(unverified(record, node, config, mark, reboots)).toEqual([]);
    await journalIsQuiet(world, node);
    // I4, I7: byte for byte.
    expect([node, await wrongOnDisk(configs, config, stack.hostRoot(node))]).toEqual([node, []]);
  }
  expect(cordonedBySlipway(record)).toEqual([]);
  await world.judge.rest();
  expect(violationsSince(world, mark)).toEqual([]);
}

/** Of both observers, from this place of the record on. Earlier findings fail their own test. */
export function violationsSince(
  { record, judge }: Pick<World, 'record' | 'judge'>,
  mark: Mark,
): readonly string[] {
  const from = record.changes[mark - 1]?.atMs ?? -Infinity;
  return [...judge.violations, ...record.found]
    .filter(({ atMs }) => atMs > from)
    .map(describeViolation);
}

/** The host may still clean up after the node is in service. */
async function journalIsQuiet({ stack }: World, node: string): Promise<void> {
  const root = stack.hostRoot(node);
  if (openJournals(root).length === 0) return;
  const log = stack.product.logFile('host-worker/worker');
  await untilLogged(log, 0, () => openJournals(root).length === 0);
}
