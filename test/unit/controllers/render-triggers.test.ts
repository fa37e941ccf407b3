import { poolsConcerned } from '../../../controllers/render/render-triggers';
import type { MachineConfig } from '../../../core/machine-config';
import type { MachineConfigPool } from '../../../core/pool/types';

function rendered(name: string, pool: string): MachineConfig {
  return {
    metadata: {
      name,
      ownerReferences: [
        {
          apiVersion: 'machineconfiguration.openshift.io/v1',
          kind: 'MachineConfigPool',
          ...{ name: pool, uid: `uid-of-${pool}`, controller: true },
        },
      ],
    },
    spec: {},
  };
}

function poolOn(name: string, config: string): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      configuration: { name: config },
      machineConfigSelector: { matchLabels: { role: name } },
    },
  };
}

const pools = [poolOn('worker', 'rendered-worker-1'), poolOn('infra', 'rendered-infra-1')];

it('renders a pool again when a config of it is gone that it may have just been pointed to', () => {
  const object = rendered('rendered-worker-2', 'worker');
  expect(poolsConcerned({ type: 'deleted', object }, pools)).toEqual(['worker']);
});

it('renders no pool again for its own creation', () => {
  const object = rendered('rendered-worker-1', 'worker');
  expect(poolsConcerned({ type: 'added', object }, pools)).toEqual([]);
});

it('renders no pool again when somebody changes a config that it is not on', () => {
  const previous = rendered('rendered-worker-0', 'worker');
  const object = { ...previous, spec: { kernelArguments: ['nosmt'] } };
  expect(poolsConcerned({ type: 'modified', object, previous }, pools)).toEqual([]);
  const target = { ...object, metadata: { ...object.metadata, name: 'rendered-worker-1' } };
  expect(poolsConcerned({ type: 'modified', object: target, previous }, pools)).toEqual(['worker']);
});
