import { showPhase } from '../../../activities/cluster/show-phase';
import { unsaidEnd } from '../../../controllers/nodes/unsaid-end';
import { ANNOTATION } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import { NodePhase } from '../../../core/node/lifecycle';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import { aNode, type NodeShape } from './objects';

const NOW = '2026-01-01T00:00:10Z';
const BEGAN = '2026-01-01T00:00:00Z';
const OVER = `v1/${BEGAN}/run-1/over`;
const REASON = 'VerifyFailed: unit chronyd.service has failed';

function ended(shape: NodeShape, annotations: Readonly<Record<string, string>> = {}): Node {
  const node = aNode(shape);
  const { metadata } = node;
  const all = { ...metadata.annotations, [ANNOTATION.UPDATE_RUN]: OVER, ...annotations };
  return { ...node, metadata: { ...metadata, annotations: all } };
}

/** In this phase of its first update, from a to b. */
function shownIn(phase: NodePhase, current = 'a'): MachineConfigNode {
  return {
    metadata: { name: 'n1', generation: 3 },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
    status: {
      configVersion: { desired: 'b', current },
      conditions: mcnConditions(phase, undefined, { config: 'b', now: BEGAN }),
    },
  };
}

const ON_B = ended({ current: 'b', desired: 'b', state: 'Done' });
const BACK_ON_A = ended({ current: 'a', desired: 'a', state: 'Done' });
/** Its host had committed, and then its node did not stay Ready. */
const FAILED_ON_B = ended(
  { current: 'b', desired: 'b', state: 'Degraded' },
  { [ANNOTATION.REASON]: REASON },
);
const failed = (state: string) =>
  ended({ current: 'a', desired: 'b', state }, { [ANNOTATION.REASON]: REASON });

/** The status that a step at the end of an update writes. */
async function writtenBy(shown: Omit<Parameters<typeof showPhase>[1], 'pool' | 'config'>) {
  const written: object[] = [];
  const known = shownIn(NodePhase.REBOOTING);
  const ports = {
    now: () => Date.parse(NOW),
    view: { machineConfigNodes: { get: () => known } },
    machineConfigNodes: {
      applySpec: (_owner: object, spec: MachineConfigNode['spec']) =>
        Promise.resolve({ ...known, spec }),
      applyStatus: (_name: string, status: object) => Promise.resolve(written.push(status)),
    },
  } as unknown as Parameters<typeof showPhase>[0];
  await showPhase(ports, { pool: 'worker', config: 'b', ...shown });
  return written[0];
}

describe('the end of an update that was lost before it was said on the MachineConfigNode', () => {
  const reboots = shownIn(NodePhase.REBOOTING);

  it('is another failure than the one that is said of an earlier config', () => {
    const said = shownIn(NodePhase.DEGRADED);
    const onC = ended(
      { current: 'a', desired: 'c', state: 'Degraded' },
      { [ANNOTATION.REASON]: REASON },
    );

    const unsaid = unsaidEnd(onC, said, NOW);

    expect(unsaid?.configVersion).toEqual({ desired: 'c', current: 'a' });
    expect(unsaid?.conditions).toContainEqual(
      expect.objectContaining({ type: 'NodeDegraded', status: 'True', message: REASON }),
    );
    expect(unsaidEnd(failed('Degraded'), said, NOW)).toBeUndefined();
  });

  it('is what the step that was lost would have written', async () => {
    const updated = await writtenBy({ node: ON_B, phase: NodePhase.UPDATED });
    expect(unsaidEnd(ON_B, reboots, NOW)).toEqual(updated);

    const cancelled = { node: BACK_ON_A, phase: NodePhase.CANCELLED, desired: 'a' };
    expect(unsaidEnd(BACK_ON_A, reboots, NOW)).toEqual(await writtenBy(cancelled));

    const degraded = { phase: NodePhase.DEGRADED, message: REASON };
    expect(unsaidEnd(failed('Degraded'), reboots, NOW)).toEqual(
      await writtenBy({ node: failed('Degraded'), ...degraded }),
    );
    expect(unsaidEnd(FAILED_ON_B, reboots, NOW)).toEqual(
      await writtenBy({ node: FAILED_ON_B, ...degraded }),
    );
    expect(unsaidEnd(failed('Unreconcilable'), reboots, NOW)).toEqual(
      await writtenBy({ node: failed('Unreconcilable'), ...degraded, failure: 'Unreconcilable' }),
    );
  });

  it.each([
    ['that led to its config', ON_B],
    ['that was taken back', BACK_ON_A],
    ['that failed', failed('Degraded')],
    ['that failed once its host had committed', FAILED_ON_B],
  ])('is said once, of one %s', (_what, node) => {
    const status = unsaidEnd(node, reboots, NOW);
    const { desired } = status?.configVersion ?? { desired: '' };
    const spec = { ...reboots.spec, configVersion: { desired } };
    const said: MachineConfigNode = {
      ...reboots,
      spec,
      ...(status === undefined ? {} : { status }),
    };

    expect(status).toBeDefined();
    expect(unsaidEnd(node, said, NOW)).toBeUndefined();
  });

  it.each<readonly [string, Node]>([
    ['has not ended', ended({ current: 'b', desired: 'b', state: 'Working' })],
    [
      'of the same config has begun since',
      ended(
        { current: 'b', desired: 'b', state: 'Done' },
        { [ANNOTATION.UPDATE_RUN]: `v1/${NOW}/run-2` },
      ),
    ],
    ['nobody has begun', aNode({ current: 'b', desired: 'b', state: 'Done' })],
    ['gives no reason, on its config', ended({ current: 'b', desired: 'b', state: 'Degraded' })],
    [
      'is no failure, but drift',
      ended(
        { current: 'b', desired: 'b', state: 'Degraded' },
        {
          [ANNOTATION.REASON]:
            'unexpected on-disk state validating against b: content of /etc/motd',
        },
      ),
    ],
  ])('is not said of an update that %s', (_what, node) => {
    expect(unsaidEnd(node, reboots, NOW)).toBeUndefined();
  });

  it('is not said of a node that only has the name of the one before', () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'another' };
    const { metadata } = reboots;
    const known = { ...reboots, metadata: { ...metadata, ownerReferences: [owner] } };

    expect(unsaidEnd(ON_B, known, NOW)).toBeUndefined();
  });

  it('calls nothing cancelled that has failed before, when the node is where it should be', () => {
    const status = unsaidEnd(BACK_ON_A, shownIn(NodePhase.DEGRADED), NOW);

    const says = (type: string) => status?.conditions.find((condition) => condition.type === type);
    expect(says('Updated')).toMatchObject({ status: 'True', message: 'the node is on a' });
    expect(says('NodeDegraded')).toMatchObject({ status: 'False' });
  });
});
