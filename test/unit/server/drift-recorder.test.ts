import type { DriftReport } from '../../../core/drift';
import type { MachineConfigNode } from '../../../core/node/types';
import { trimMachineConfigNode } from '../../../server/cluster-watch';
import { createDriftRecorder } from '../../../server/drift-recorder';

const DRIFTED: DriftReport = {
  config: 'rendered-worker-1',
  findings: [
    { path: '/etc/a', kind: 'content', detail: 'content mismatch', since: '2030-01-01T00:00:00Z' },
  ],
  count: 1,
  repairs: [],
  forced: false,
};

function aNode(name: string, resourceVersion: string): MachineConfigNode {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion },
    spec: {
      node: { name },
      pool: { name: 'worker' },
      configVersion: { desired: 'rendered-worker-1' },
    },
  };
}

it('keeps what it wrote only until the watch has brought it, also of nodes that never report again', async () => {
  const seen = new Map(['a', 'b', 'c'].map((name) => [name, aNode(name, '1')]));
  const recorder = createDriftRecorder(
    { node: (name) => ({ metadata: { name } }), machineConfigNode: (name) => seen.get(name) },
    async (name, { condition, drift }) => ({
      ...aNode(name, '5'),
      status: { conditions: [condition], drift },
    }),
  );
  await recorder.record('a', DRIFTED);
  await recorder.record('b', DRIFTED);
  expect(recorder.waiting).toBe(2);

  seen.set('a', aNode('a', '5'));
  seen.delete('b');
  await recorder.record('c', DRIFTED);

  expect(recorder.waiting).toBe(1);
});

it('takes no report for a Node that is registered anew before what is left of the earlier one is gone', async () => {
  const ownedBy = (uid: string): MachineConfigNode => {
    const { metadata, ...rest } = aNode('a', '1');
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid };
    return { ...rest, metadata: { ...metadata, ownerReferences: [owner] } };
  };
  let mine = ownedBy('uid-earlier');
  const written: string[] = [];
  const recorder = createDriftRecorder(
    {
      node: (name) => ({ metadata: { name, uid: 'uid-now' } }),
      // As in the server's cache.
      machineConfigNode: () => trimMachineConfigNode(mine),
    },
    async (name, { condition, drift }) => {
      written.push(name);
      return { ...mine, status: { conditions: [condition], drift } };
    },
  );

  expect(await recorder.record('a', DRIFTED)).toBe(false);
  expect(written).toEqual([]);

  mine = ownedBy('uid-now');
  expect(await recorder.record('a', DRIFTED)).toBe(true);
  expect(written).toEqual(['a']);
});
