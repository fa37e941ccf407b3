import {
  groupedMessages,
  judgePod,
  judgePods,
  MCO_DRAIN_OPTIONS,
  type DrainContext,
  type DrainOptions,
  type Pod,
} from '../../../../core/drain';
import { aPod, NOW, ownedBy } from './pods';

const CAREFUL: DrainOptions = {
  force: false,
  ignoreAllDaemonSets: false,
  deleteEmptyDirData: false,
};

const mco: DrainContext = { options: MCO_DRAIN_OPTIONS, now: NOW };
const careful: DrainContext = { options: CAREFUL, now: NOW };

const ofReplicaSet = { ownerReferences: ownedBy('ReplicaSet', 'cart-7f') };
const ofDaemonSet = { ownerReferences: ownedBy('DaemonSet', 'logs') };
const mirror = { annotations: { 'kubernetes.io/config.mirror': '1' } };
const emptyDir = { volumes: [{ name: 'cache', emptyDir: {} }] };
const deletingSince = (deletionTimestamp: string): Pick<Pod['metadata'], 'deletionTimestamp'> => ({
  deletionTimestamp,
});

describe('what a drain does with a pod', () => {
  it.each([
    // pod, with MCO's options, with every option off
    ['managed', aPod(ofReplicaSet), ['delete', []], ['delete', []]],
    ['unmanaged', aPod({}), ['warn', ['Unmanaged']], ['refuse', ['Unmanaged']]],
    ['of a DaemonSet', aPod(ofDaemonSet), ['skip', ['DaemonSet']], ['refuse', ['DaemonSet']]],
    ['static', aPod(mirror), ['skip', ['MirrorPod']], ['skip', ['MirrorPod']]],
    [
      'static with an emptyDir and no controller',
      aPod(mirror, { spec: emptyDir }),
      ['skip', ['MirrorPod']],
      ['skip', ['MirrorPod']],
    ],
    [
      'with an emptyDir',
      aPod(ofReplicaSet, { spec: emptyDir }),
      ['warn', ['LocalStorage']],
      ['refuse', ['LocalStorage']],
    ],
    [
      'unmanaged with an emptyDir',
      aPod({}, { spec: emptyDir }),
      ['warn', ['LocalStorage', 'Unmanaged']],
      ['refuse', ['LocalStorage']],
    ],
    [
      'with a volume that is not an emptyDir',
      aPod(ofReplicaSet, { spec: { volumes: [{ name: 'data' }] } }),
      ['delete', []],
      ['delete', []],
    ],
    [
      'finished, unmanaged, with an emptyDir',
      aPod({}, { spec: emptyDir, status: { phase: 'Succeeded' } }),
      ['delete', []],
      ['delete', []],
    ],
    [
      'finished, of a DaemonSet',
      aPod(ofDaemonSet, { status: { phase: 'Failed' } }),
      ['delete', []],
      ['delete', []],
    ],
    [
      'owned by a DaemonSet that is not its controller',
      aPod({ ownerReferences: ownedBy('DaemonSet', 'logs', { controller: false }) }),
      ['warn', ['Unmanaged']],
      ['refuse', ['Unmanaged']],
    ],
    [
      'terminating',
      aPod({ ...ofReplicaSet, ...deletingSince('2026-01-01T11:00:00Z') }),
      ['delete', []],
      ['delete', []],
    ],
  ] as const)('%s', (_, pod, expectedByMco, expectedCareful) => {
    expect(outcome(pod, mco)).toEqual(expectedByMco);
    expect(outcome(pod, careful)).toEqual(expectedCareful);
  });
});

describe('a pod that terminates for long', () => {
  const context: DrainContext = {
    options: { ...MCO_DRAIN_OPTIONS, skipWaitForDeleteTimeoutSeconds: 60 },
    now: NOW,
  };

  it.each([
    ['2026-01-01T11:58:59Z', 'skip'],
    ['2026-01-01T11:59:00Z', 'delete'],
    ['2026-01-01T11:59:30Z', 'delete'],
  ])('deleted at %s: %s', (since, expected) => {
    const pod = aPod({ ...ofReplicaSet, ...deletingSince(since) });
    expect(judgePod(pod, context).verdict).toBe(expected);
  });

  it('is not checked by the other filters', () => {
    const pod = aPod({ ...ofDaemonSet, ...deletingSince('2026-01-01T10:00:00Z') });
    expect(outcome(pod, context)).toEqual(['skip', ['DeletingForLong']]);
  });
});

describe('a pod whose DaemonSet does not exist', () => {
  const missingDaemonSets = ['shop/logs'];

  it('goes with a warning when forced, and refuses the drain otherwise', () => {
    const pod = aPod(ofDaemonSet);
    expect(outcome(pod, { ...mco, missingDaemonSets })).toEqual(['warn', ['OrphanedDaemonSet']]);
    expect(outcome(pod, { ...careful, missingDaemonSets })).toEqual([
      'refuse',
      ['OrphanedDaemonSet'],
    ]);
  });

  it('is not one of the same name elsewhere', () => {
    const pod = aPod(ofDaemonSet);
    const elsewhere = { ...mco, missingDaemonSets: ['other/logs'] };
    expect(outcome(pod, elsewhere)).toEqual(['skip', ['DaemonSet']]);
  });
});

describe('messages', () => {
  const pods = [
    aPod({ name: 'a' }, { spec: emptyDir }),
    aPod({ name: 'b', ...ofDaemonSet }),
    aPod({ name: 'c' }),
  ];

  it('groups pods by message, in order of appearance', () => {
    expect(groupedMessages(judgePods(pods, mco), 'warn')).toEqual([
      'deleting pods with local storage: shop/a',
      'deleting pods that declare no controller: shop/a, shop/c',
    ]);
    expect(groupedMessages(judgePods(pods, mco), 'skip')).toEqual([
      'ignoring DaemonSet-managed pods: shop/b',
    ]);
  });

  it('says which option would change a refusal', () => {
    expect(groupedMessages(judgePods(pods, careful), 'refuse')).toEqual([
      'cannot delete pods with local storage (set deleteEmptyDirData to delete them): shop/a',
      'cannot delete DaemonSet-managed pods (set ignoreAllDaemonSets to ignore them): shop/b',
      'cannot delete pods that declare no controller (set force to delete them): shop/c',
    ]);
  });

  it('is silent about pods that simply go', () => {
    const judged = judgePods([aPod(ofReplicaSet)], mco);
    expect(groupedMessages(judged, 'warn')).toEqual([]);
  });
});

function outcome(pod: Pod, context: DrainContext): readonly [string, readonly string[]] {
  const { verdict, findings } = judgePod(pod, context);
  return [verdict, findings.map(({ reason }) => reason)];
}
