import { controlPlaneNewsFor, newsFor } from '../../../controllers/rollout/node-interest';
import { aNode, type NodeShape } from './objects';

const DONE: NodeShape = { current: 'a', desired: 'a', state: 'Done' };
const WORKING: NodeShape = { current: 'a', desired: 'b', state: 'Working' };

describe('what a rollout must hear of a node', () => {
  it.each<[string, NodeShape | undefined, NodeShape | undefined, string | undefined]>([
    ['it joined', undefined, DONE, 'node n1 joined'],
    ['it is gone', DONE, undefined, 'node n1 is gone'],
    ['it is gone during its update', WORKING, undefined, 'node n1 is gone'],
    ['it is being deleted', DONE, { ...DONE, deleting: true }, 'node n1 is being deleted'],
    ['a person cordoned it', DONE, { ...DONE, cordoned: 'person' }, 'node n1 was cordoned'],
    ['a person uncordoned it', { ...DONE, cordoned: 'person' }, DONE, 'node n1 was uncordoned'],
    ['it is not ready', DONE, { ...DONE, ready: false }, 'readiness of node n1'],
    ['it is ready again', { ...DONE, ready: false }, DONE, 'readiness of node n1'],
    ['its labels changed', DONE, { ...DONE, roles: ['infra'] }, 'labels of node n1'],
    ['labels during its update', WORKING, { ...WORKING, roles: ['infra'] }, 'labels of node n1'],
    [
      'its taints changed',
      DONE,
      { ...DONE, taints: [{ key: 'a', effect: 'NoSchedule' }] },
      'taints of node n1',
    ],
    [
      'Kubernetes repeats its cordon as a taint',
      DONE,
      { ...DONE, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
      undefined,
    ],
    [
      'it is one that will be drained',
      DONE,
      { ...DONE, taints: [{ key: 'UpdateInProgress', effect: 'PreferNoSchedule' }] },
      undefined,
    ],
    ['a hold was lifted', { ...DONE, held: 'b' }, DONE, 'annotations of node n1'],
    ['somebody forgot its config', DONE, { desired: 'a', state: 'Done' }, 'annotations of node n1'],
    ['nothing changed', DONE, DONE, undefined],
    ['its update began', DONE, WORKING, undefined],
    ['its update cordoned it', WORKING, { ...WORKING, cordoned: 'slipway' }, undefined],
    [
      'it reboots in its update',
      { ...WORKING, cordoned: 'slipway' },
      { ...WORKING, cordoned: 'slipway', ready: false },
      undefined,
    ],
    ['its update ended', { ...WORKING, cordoned: 'slipway' }, DONE, undefined],
    [
      'its update failed',
      { ...WORKING, cordoned: 'slipway' },
      { ...WORKING, state: 'Degraded' },
      undefined,
    ],
    [
      'a person cordoned one whose update is lost',
      WORKING,
      { ...WORKING, cordoned: 'person' },
      'node n1 was cordoned',
    ],
    [
      'a person uncordoned it again',
      { ...WORKING, cordoned: 'person' },
      WORKING,
      'node n1 was uncordoned',
    ],
    [
      'a person uncordoned what its update had cordoned',
      { ...WORKING, cordoned: 'slipway' },
      WORKING,
      'node n1 was uncordoned',
    ],
    [
      'a person uncordoned what a failed update had left',
      { ...WORKING, state: 'Degraded', cordoned: 'slipway' },
      { ...WORKING, state: 'Degraded' },
      'node n1 was uncordoned',
    ],
  ])('%s', (_what, previous, current, expected) => {
    const change = {
      ...(previous === undefined ? {} : { previous: aNode(previous) }),
      ...(current === undefined ? {} : { current: aNode(current) }),
    };

    expect(newsFor(change)).toBe(expected);
  });

  it('its kubelet says for the first time that it is Ready', () => {
    const ready = aNode({ ready: true });
    const silent = { ...ready, status: {} };

    expect(newsFor({ previous: silent, current: ready })).toBe('readiness of node n1');
  });
});

describe('what other pools with control-plane nodes must hear of one', () => {
  const master = (shape: NodeShape): NodeShape => ({ roles: ['control-plane'], ...shape });
  const OUT: NodeShape = { ...WORKING, cordoned: 'slipway' };

  it.each<[string, NodeShape | undefined, NodeShape | undefined, string | undefined]>([
    ['its update ended', master(OUT), master(DONE), 'control-plane node n1 is back in service'],
    ['its update began', master(DONE), master(OUT), undefined],
    ['it is gone', master(OUT), undefined, 'the control plane has other nodes'],
    ['it joined', undefined, master(DONE), 'the control plane has other nodes'],
    ['it became one', DONE, master(DONE), 'the control plane has other nodes'],
    ['it is none', OUT, DONE, undefined],
  ])('%s', (_what, before, after, news) => {
    const change = {
      ...(before === undefined ? {} : { previous: aNode(before) }),
      ...(after === undefined ? {} : { current: aNode(after) }),
    };
    expect(controlPlaneNewsFor(change)).toBe(news);
  });
});
