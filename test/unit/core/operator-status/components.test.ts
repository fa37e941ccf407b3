import {
  componentsOf,
  HostVersions,
  imageOfPod,
  type ProcessPod,
} from '../../../../core/operator-status';
import { componentVersions } from '../../../../core/operator-status/components';

const NOW = '2030-01-01T10:00:00Z';

interface PodShape {
  readonly image?: string;
  readonly ready?: false;
  readonly phase?: string;
  readonly deleted?: true;
}

let made = 0;
function aPod(app: string, shape: PodShape = {}): ProcessPod {
  const { image = 'r/slipway:1', ready = true, phase = 'Running', deleted } = shape;
  made += 1;
  return {
    metadata: {
      name: `pod-${made}`,
      labels: { 'app.kubernetes.io/name': app },
      ...(deleted === undefined ? {} : { deletionTimestamp: NOW }),
    },
    spec: { containers: [{ image }] },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

describe('components', () => {
  it('are counted by their pods, without those that are over', () => {
    const pods = [
      aPod('slipway-server'),
      aPod('slipway-server', { ready: false, image: 'r/slipway:2' }),
      aPod('slipway-server', { deleted: true, image: 'r/slipway:0' }),
      aPod('slipway-server', { phase: 'Failed', image: 'r/slipway:0' }),
      aPod('slipway-controllers'),
      aPod('slipway-cluster-worker'),
      aPod('slipway-installer'),
    ];

    expect(componentsOf(pods, [], NOW)).toEqual([
      { name: 'cluster-worker', replicas: 1, ready: 1, images: ['r/slipway:1'] },
      { name: 'controllers', replicas: 1, ready: 1, images: ['r/slipway:1'] },
      { name: 'server', replicas: 2, ready: 1, images: ['r/slipway:1', 'r/slipway:2'] },
    ]);
  });

  it('that have no ready pod, or none at all, say since when', () => {
    const pods = [aPod('slipway-controllers'), aPod('slipway-server', { ready: false })];

    const first = componentsOf(pods, [], '2030-01-01T09:00:00Z');
    const second = componentsOf(pods, first, NOW);

    expect(second).toEqual(first);
    expect(second.map(({ name, downSince }) => [name, downSince])).toEqual([
      ['cluster-worker', '2030-01-01T09:00:00Z'],
      ['controllers', undefined],
      ['server', '2030-01-01T09:00:00Z'],
    ]);
    const [, , server] = componentsOf([...pods, aPod('slipway-server')], second, NOW);
    expect(server).not.toHaveProperty('downSince');
  });

  it('are none where the processes run elsewhere', () => {
    expect(componentsOf([], [], NOW)).toEqual([]);
    expect(componentsOf([aPod('slipway-installer')], [], NOW)).toEqual([]);
  });
});

describe('the version of an image', () => {
  const digest = `sha256:${'ab'.repeat(32)}`;

  it.each([
    ['r:5000/slipway:0.2.0', '0.2.0'],
    [`r:5000/slipway:0.2.0@${digest}`, '0.2.0'],
    [`r:5000/slipway@${digest}`, 'sha256:abababababab'],
    ['r:5000/slipway', 'latest'],
    ['r/own', '0.9.0'],
  ])('%s is %s', (image, version) => {
    const component = { name: 'server', replicas: 1, ready: 1, images: [image] };

    expect(componentVersions([component], { version: '0.9.0', image: 'r/own' })).toEqual([
      { name: 'server', version },
    ]);
  });

  it('is known of the pod of the leader', () => {
    const pod = aPod('slipway-controllers', { image: 'r/own' });

    expect(imageOfPod([pod], pod.metadata.name)).toBe('r/own');
    expect(imageOfPod([pod], 'a-laptop')).toBeUndefined();
  });
});

describe('versions of host workers', () => {
  it('are counted one host at a time, and only a change is one', () => {
    const versions = new HostVersions();

    expect(versions.set('a', undefined)).toBe(true);
    expect(versions.set('a', undefined)).toBe(false);
    expect(versions.set('a', '1')).toBe(true);
    expect(versions.set('a', '1')).toBe(false);
    expect(versions.set('b', '2')).toBe(true);
    expect(versions.set('c', '2')).toBe(true);
    expect(versions.set('d', undefined)).toBe(true);
    expect(versions.counted).toEqual({
      ...{ reported: 3, neverReported: 1 },
      versions: [
        { version: '2', hosts: 2 },
        { version: '1', hosts: 1 },
      ],
    });

    expect(versions.set('b', '1')).toBe(true);
    expect(versions.delete('c')).toBe(true);
    expect(versions.delete('c')).toBe(false);
    expect(versions.delete('d')).toBe(true);
    expect(versions.counted).toEqual({
      ...{ reported: 2, neverReported: 0 },
      versions: [{ version: '1', hosts: 2 }],
    });
  });
});
