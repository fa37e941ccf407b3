import { hostReport, withReport } from '../../../../adapters/kube/host-report';
import { DRIFT_KINDS } from '../../../../core/drift';
import type { MachineConfigNode, MachineConfigNodeDrift } from '../../../../core/node/types';
import type { Condition } from '../../../../core/object-meta';

const SINCE = '2030-01-01T00:00:00Z';
const DRIFT: MachineConfigNodeDrift = {
  config: 'rendered-worker-1',
  count: 1,
  findings: [{ path: '/etc/a', kind: DRIFT_KINDS[0], detail: 'is 0600', since: SINCE }],
  repairs: [{ path: '/etc/b', at: SINCE }],
  forced: false,
  unrepaired: 'the limit is reached',
};

const REPORTED = { drift: DRIFT, hostWorker: { version: '1.2.3' } };

const DRIFTED: Condition = {
  ...{ type: 'Drifted', status: 'True', reason: 'ConfigDrift', message: '/etc/a differs' },
  lastTransitionTime: SINCE,
};

function stored(...conditions: readonly Condition[]): MachineConfigNode {
  return {
    metadata: { name: 'w1' },
    spec: {
      node: { name: 'w1' },
      pool: { name: 'worker' },
      configVersion: { desired: 'rendered-worker-1' },
    },
    status: { observedGeneration: 1, conditions },
  };
}

it('is read as it was written, beside the rest of the status', () => {
  expect(withReport(stored(DRIFTED, hostReport(REPORTED, DRIFTED))).status).toEqual({
    observedGeneration: 1,
    conditions: [DRIFTED],
    ...REPORTED,
  });
});

it('may lack the version', () => {
  expect(withReport(stored(hostReport({ drift: DRIFT }, DRIFTED))).status).toEqual({
    observedGeneration: 1,
    conditions: [],
    drift: DRIFT,
  });
});

it('is none where the host has reported nothing', () => {
  const known = stored(DRIFTED);

  expect(withReport(known)).toBe(known);
});

it.each(['none', '{"config":"rendered-worker-1"}'])('is none where it says %s', (message) => {
  const known = stored(DRIFTED, { ...hostReport(REPORTED, DRIFTED), message });

  expect(withReport(known)).toEqual(stored(DRIFTED));
});
