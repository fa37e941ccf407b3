/** An update that has told how it ended, and whose host does not answer any more, in quiet weather. */

import { quietWorld } from './quiet-world';
import type { SimulatedConfig } from './world/host';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function config(number: number): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os: 'os-1', drain: false, restartsService: true },
    ...{ unreconcilable: false, doesNotBoot: false, cutsNetwork: false },
    ...{ neverReady: false, unitFails: false },
  };
}

jest.setTimeout(120_000);

it('holds up no other node when the pool gets another config, and is named at the end', async () => {
  const pool = { maxUnavailable: 1, configs: [1, 2, 3, 4].map(config), policy: {} };
  const { world, trace, run } = await quietWorld({ nodes: 4, pool });
  const committing = () =>
    /update-node\/(\S+): schedules commitUpdate/.exec(trace.last(20).join('\n'));
  world.controllers.begin();
  while (committing() === null) await run(5);
  const node = committing()?.[1] ?? '';
  world.hosts.get(node)?.killWorker(3 * HOUR_MS);
  await run(5 * MINUTE_MS);

  world.render('worker', 'rendered-worker-3');
  await run(HOUR_MS);

  expect(await world.progress('worker')).toMatchObject({
    ...{ state: 'Rolling', updated: 3, machineCount: 4 },
    blocker: `${node}: waiting for its update to rendered-worker-2 to end`,
  });

  await run(3 * HOUR_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
