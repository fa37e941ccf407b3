/** A frozen worker resumes in the middle of a write, and must not make it. */

import { createCompleteNode } from '../../../../activities/cluster/complete-node';
import { createReleaseNode } from '../../../../activities/cluster/release-node';
import { whileWanted } from '../../../../activities/cluster/still-wanted';
import type { ClusterPorts, NodeChange } from '../../../../activities/cluster/ports';
import type { Node } from '../../../../core/node/types';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const ATTEMPT_MS = 30_000;
const STEP = {
  node: 'worker-1',
  pool: 'worker',
  config: 'rendered-worker-b',
  workflowId: 'update-node/worker-1',
  run: { id: 'run-1', startedAt: '2026-01-01T00:00:00Z' },
};
const NODE = { metadata: { name: 'worker-1', resourceVersion: '1' }, spec: {} } as Node;

class Scene {
  nowMs = NOW;
  writes: NodeChange[] = [];
  readonly abort = new AbortController();
  readonly ports = {
    now: () => this.nowMs,
    run: () => ({ signal: this.abort.signal, attemptMs: ATTEMPT_MS }),
    nodes: {
      // The process is frozen here, after it has read the Node.
      change: (_name: string, decide: (node: Node) => NodeChange | undefined) => {
        this.nowMs += this.frozenMs;
        const change = decide(NODE);
        if (change !== undefined) this.writes.push(change);
        throw new Error('written, and the rest does not matter here');
      },
    },
  } as unknown as ClusterPorts;

  constructor(private readonly frozenMs: number) {}
}

const RELEASE = {
  ...STEP,
  outcome: 'failed',
  hostIsBack: true,
  reason: 'no',
  unreconcilable: false,
};

const ACTS: readonly (readonly [string, (ports: ClusterPorts) => Promise<unknown>])[] = [
  ['completes', (ports) => createCompleteNode(ports)(STEP)],
  ['releases', (ports) => createReleaseNode(ports)(RELEASE as never)],
];

test.each(ACTS)('who was given up meanwhile %s nothing', async (_name, act) => {
  const scene = new Scene(ATTEMPT_MS + 1);
  await expect(act(scene.ports)).rejects.toMatchObject({ name: 'Conflict' });
  expect(scene.writes).toEqual([]);
});

test.each(ACTS)('who was not given up %s', async (_name, act) => {
  const scene = new Scene(ATTEMPT_MS);
  await expect(act(scene.ports)).rejects.toThrow('written');
  expect(scene.writes).toHaveLength(1);
});

test('a cancelled attempt says why', () => {
  const scene = new Scene(0);
  const check = whileWanted(scene.ports, STEP);
  scene.abort.abort(new Error('cancelled'));
  expect(check).toThrow('cancelled');
});
