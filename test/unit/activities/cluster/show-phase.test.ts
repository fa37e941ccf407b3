import { showPhase } from '../../../../activities/cluster/show-phase';
import { fail } from '../../../../core/errors';
import type { Node } from '../../../../core/node/types';

type Ports = Parameters<typeof showPhase>[0];

const NODE: Node = { metadata: { name: 'n', uid: 'uid-n' } };

/** Its MachineConfigNode is deleted with the Node during this many writes. */
function scene(deletions: number) {
  let left = deletions;
  const statuses: unknown[] = [];
  const ports = {
    now: () => 0,
    view: { machineConfigNodes: { get: () => undefined } },
    machineConfigNodes: {
      read: () => Promise.reject(fail('ObjectNotFound', 'machineconfignode n does not exist')),
      applySpec: (metadata: object, spec: object) => Promise.resolve({ metadata, spec }),
      applyStatus: (_name: string, status: unknown) => {
        if ((left -= 1) >= 0) {
          return Promise.reject(fail('ObjectNotFound', 'machineconfignode n does not exist'));
        }
        statuses.push(status);
        return Promise.resolve({});
      },
    },
  } as unknown as Ports;
  const shown = { node: NODE, pool: 'worker', config: 'rendered-worker-1', phase: 'Draining' };
  return { statuses, show: () => showPhase(ports, shown as Parameters<typeof showPhase>[1]) };
}

it('writes a MachineConfigNode anew that was deleted in the middle of it', async () => {
  const { show, statuses } = scene(1);

  await show();

  expect(statuses).toHaveLength(1);
});

it('comes again later to one that cannot be made, as where its kind is not served', async () => {
  const { show, statuses } = scene(100);

  await expect(show()).rejects.toMatchObject({
    name: 'ApiUnavailable',
    message: expect.stringContaining('is its CustomResourceDefinition there?') as string,
  });
  expect(statuses).toEqual([]);
});
