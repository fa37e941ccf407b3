import { measurePhases, phaseShown } from '../../../controllers/nodes/phase-durations';
import { mcnConditions } from '../../../core/node/conditions';
import { NodePhase } from '../../../core/node/lifecycle';
import type { MachineConfigNode } from '../../../core/node/types';
import { Objects } from './listed-objects';

/** The MachineConfigNode of n1 after these phases. */
function after(...phases: readonly NodePhase[]): MachineConfigNode {
  const now = '2026-03-01T12:00:00Z';
  let conditions = mcnConditions(NodePhase.UPDATED, undefined, { config: 'a', now });
  for (const phase of phases) {
    conditions = mcnConditions(phase, conditions, { config: 'b', now });
  }
  return {
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
    status: { conditions },
  };
}

const { PREPARING, CORDONING, DRAINING, APPLYING, RELOADING, REBOOTING } = NodePhase;
const { VERIFYING, COMPLETING, GOING_BACK, UPDATED, DEGRADED, CANCELLED } = NodePhase;

describe('the phase that a MachineConfigNode shows', () => {
  const way = [
    PREPARING,
    CORDONING,
    DRAINING,
    APPLYING,
    RELOADING,
    REBOOTING,
    VERIFYING,
    COMPLETING,
  ];

  it.each(way.map((phase, index) => [phase, way.slice(0, index + 1)] as const))(
    'is %s',
    (phase, until) => {
      expect(phaseShown(after(...until))).toBe(phase);
    },
  );

  it.each([DRAINING, APPLYING, REBOOTING])('is GoingBack after %s', (phase) => {
    expect(phaseShown(after(phase, GOING_BACK))).toBe(GOING_BACK);
  });

  it.each([UPDATED, DEGRADED, CANCELLED])('is none after %s', (end) => {
    expect(phaseShown(after(DRAINING, APPLYING, end))).toBeUndefined();
  });
});

describe('durations', () => {
  function measured(first: MachineConfigNode | undefined) {
    const nodes = new Objects(first === undefined ? [] : [first]);
    const stop = new AbortController();
    const seen: string[] = [];
    let at = 0;
    measurePhases(
      nodes,
      (pool, phase, seconds) => seen.push(`${pool} ${phase} ${seconds}`),
      stop.signal,
      () => at,
    );
    const put = (seconds: number, node: MachineConfigNode): void => {
      at = seconds * 1000;
      nodes.put(node);
    };
    return { nodes, stop, seen, put };
  }

  it('run from one phase to the next and to the end', () => {
    const { seen, put } = measured(after());

    put(10, after(DRAINING));
    put(12, { ...after(DRAINING), metadata: { name: 'n1', resourceVersion: '2' } });
    put(15, after(DRAINING, APPLYING));
    put(16.5, after(DRAINING, APPLYING, REBOOTING));
    put(90, after(DRAINING, APPLYING, REBOOTING, UPDATED));
    put(200, after(DRAINING));

    expect(seen).toEqual(['worker Draining 5', 'worker Applying 1.5', 'worker Rebooting 73.5']);
  });

  it('of what had begun before, or of a node that is gone, are not known', () => {
    const { nodes, seen, put } = measured(after(DRAINING));

    put(5, after(DRAINING, APPLYING));
    nodes.remove('n1');
    put(7, after(REBOOTING));
    put(9, after(UPDATED));

    expect(seen).toEqual([]);
  });

  it('are not taken any more after the end', () => {
    const { stop, seen, put } = measured(after());
    put(1, after(DRAINING));

    stop.abort();
    put(5, after(UPDATED));

    expect(seen).toEqual([]);
  });
});
