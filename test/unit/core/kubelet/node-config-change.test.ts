import { nodeConfigChange } from '../../../../core/kubelet';

const SLOW = 'LowUpdateSlowReaction';
const MEDIUM = 'MediumUpdateAverageReaction';

describe('a change of nodes.config.openshift.io', () => {
  test.each([
    ['', '', 'nothing'],
    ['Default', 'Default', 'nothing'],
    ['', 'Default', 'sync'],
    ['Default', MEDIUM, 'sync'],
    [MEDIUM, SLOW, 'sync'],
    [SLOW, MEDIUM, 'sync'],
    ['', SLOW, 'prohibited'],
    ['Default', SLOW, 'prohibited'],
    [SLOW, 'Default', 'prohibited'],
    [SLOW, '', 'prohibited'],
  ])('from %j to %j: %s', (from, to, effect) => {
    const [old, now] = [from, to].map((workerLatencyProfile) => ({
      name: 'cluster',
      spec: { workerLatencyProfile },
    }));
    if (old === undefined || now === undefined) throw new Error('two are given');
    const { syncs, prohibited } = nodeConfigChange(old, now);
    expect({ syncs, isProhibited: prohibited !== undefined }).toEqual({
      syncs: effect === 'sync',
      isProhibited: effect === 'prohibited',
    });
  });

  test('counts an empty field as absent', () => {
    const spec = { cgroupMode: '' };
    const change = nodeConfigChange({ name: 'cluster', spec: {} }, { name: 'cluster', spec });
    expect(change).toEqual({ syncs: false });
  });

  test('syncs for another field', () => {
    const spec = { minimumKubeletVersion: '1.30.0' };
    const change = nodeConfigChange({ name: 'cluster', spec: {} }, { name: 'cluster', spec });
    expect(change).toEqual({ syncs: true });
  });

  test('is prohibited for another object', () => {
    const change = nodeConfigChange({ name: 'a', spec: {} }, { name: 'a', spec: {} });
    expect(change.prohibited).toContain('must be "cluster"');
  });
});
