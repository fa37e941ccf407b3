/**
 * The API server goes away in the moment between the last two writes of an update, and a person terminates that: its Node
 * is done, and its MachineConfigNode is in the middle of it (I7). Otherwise in quiet weather.
 */

import { updateNodeId } from '../../core/names';
import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;
const NEXT = 'rendered-worker-2';
const STATE = 'machineconfiguration.openshift.io/state';
const CURRENT = 'machineconfiguration.openshift.io/currentConfig';

beforeAll(() => shippedSandbox(), 180_000);

it.each([1, 2, 3])(
  'says that it is updated all the same (seed %i)',
  async (seed) => {
    const policy = { canary: { nodes: 0 }, drain: { timeoutSeconds: 60 } };
    const { world, run } = await quietWorld({
      ...{ seed, nodes: 2 },
      pool: { maxUnavailable: 1, configs: [1, 2].map(rebootingConfig), policy },
    });
    world.controllers.begin();
    const { nodes, machineConfigNodes } = world.cluster;
    const done = () =>
      [...nodes.values()].find(({ metadata: { annotations } }) => {
        return annotations?.[CURRENT] === NEXT && annotations[STATE] === 'Done';
      });
    await until(run, () => done() !== undefined, 1);
    const name = done()?.metadata.name ?? '';
    const updated = () =>
      machineConfigNodes.get(name)?.status?.conditions?.find(({ type }) => type === 'Updated');
    world.cluster.isAway = true;
    await run(MINUTE_MS);
    await world.terminate(updateNodeId(name));
    world.cluster.isAway = false;
    expect(updated()?.status).toBe('False');

    await run(60 * MINUTE_MS);

    expect(updated()?.status).toBe('True');
    expect(machineConfigNodes.get(name)?.status?.configVersion?.current).toBe(NEXT);
    expect(world.invariants.violations).toEqual([]);
  },
  120_000,
);
