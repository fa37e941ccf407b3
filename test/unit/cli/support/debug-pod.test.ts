import { type DebugPod, podName, stateOf } from '../../../../cli/debug/pod';

const pod = (status: DebugPod['status']): DebugPod => ({
  metadata: { name: 'debug' },
  ...(status === undefined ? {} : { status }),
});
const container = (state: object) => ({ containerStatuses: [{ state }] });

it.each<[string, DebugPod['status'], object]>([
  ['nobody has seen', undefined, { is: 'unseen' }],
  ['is pending', { phase: 'Pending' }, { is: 'unseen' }],
  ['runs', container({ running: {} }), { is: 'running' }],
  [
    'is being pulled',
    container({ waiting: { reason: 'ContainerCreating' } }),
    { is: 'waiting', why: 'ContainerCreating' },
  ],
  [
    'could not be pulled once',
    container({ waiting: { reason: 'ErrImagePull', message: 'timeout' } }),
    { is: 'waiting', why: 'ErrImagePull: timeout' },
  ],
  [
    'cannot be pulled',
    container({ waiting: { reason: 'ImagePullBackOff', message: 'no such host' } }),
    { is: 'failed', why: 'ImagePullBackOff: no such host' },
  ],
  [
    'has no sleep',
    container({ terminated: { reason: 'StartError', message: 'exec: "sleep": not found' } }),
    { is: 'failed', why: 'StartError: exec: "sleep": not found' },
  ],
  [
    'the kubelet refuses',
    { phase: 'Failed', reason: 'OutOfpods', message: 'too many pods' },
    { is: 'failed', why: 'OutOfpods: too many pods' },
  ],
])('a pod that %s', (_what, status, expected) => {
  expect(stateOf(pod(status))).toEqual(expected);
});

it.each([
  ['w1', 'slipway-debug-w1-a1b2c3'],
  [
    'ip-10-0-0-1.eu-west-1.compute.internal',
    'slipway-debug-ip-10-0-0-1-eu-west-1-compute-internal-a1b2c3',
  ],
  ['n'.repeat(60), `slipway-debug-${'n'.repeat(42)}-a1b2c3`],
])('the pod of node %s has a name that is a host name', (node, expected) => {
  expect(podName(node, 'a1b2c3')).toBe(expected);
  expect(podName(node, 'a1b2c3').length).toBeLessThanOrEqual(63);
});
