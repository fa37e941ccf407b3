import fc from 'fast-check';
import {
  readAttach,
  readNodeReport,
  readPrepared,
  readProceed,
  readReason,
  readVersions,
} from '../../../workflows/signal-payloads';

const REPORT = {
  node: 'worker-1',
  runId: 'run-1',
  config: 'rendered-worker-1',
  outcome: 'updated',
  phases: [{ phase: 'Draining', seconds: 1.5 }],
  disruption: 'drain',
  startedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:01:00.000Z',
};
const FULL_REPORT = {
  ...REPORT,
  ...{
    uid: 'uid-1',
    phase: 'Applying',
    reason: 'disk full',
    failure: 'ApplyFailed',
  },
  ...{ inServiceAt: '17', hostIsBack: false, isTriedAgain: false },
  ...{ stoppedByRollout: true, leftAt: '18' },
};
const PREPARED = {
  ...{ node: 'worker-1', runId: 'run-1', config: 'rendered-worker-1' },
  ...{ holdsSlot: false, stage: 'waiting' },
};
const GRANTED = { grantedAt: '2026-01-01T00:00:30.000Z' };
const FULL_PREPARED = {
  ...{ ...PREPARED, ...GRANTED, uid: 'uid-1' },
  ...{ returned: true, triedAgain: true },
};
const PROCEED = { slot: 'pool-rollout/worker', repair: false, number: 3, ...GRANTED };
const ATTACH = { reportTo: 'pool-rollout/worker' };
const STOPPING = { reason: 'the pool is rolled to rendered-worker-2 now' };
const NODE_GONE = { reason: 'node worker-1 was deleted' };

const READERS = [
  ['nodeFinished', readNodeReport, REPORT],
  ['prepared', readPrepared, PREPARED],
  ['proceed', readProceed, PROCEED],
  ['attach', readAttach, ATTACH],
  ['nodeGone', readReason, NODE_GONE],
  ['stopping', readReason, STOPPING],
] as const;

it.each([
  ...READERS,
  ['a full nodeFinished', readNodeReport, FULL_REPORT],
  ['a full prepared', readPrepared, FULL_PREPARED],
  ['a full proceed', readProceed, { ...PROCEED, counts: ['n1'], pending: ['n2'] }],
] as const)('%s is read as it was sent', (_signal, read, payload) => {
  expect(read(payload)).toEqual(payload);
});

describe.each(READERS)('%s', (_signal, read, payload) => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a string', 'worker-1'],
    ['a number', 1],
    ['a list', [payload]],
    ['an empty object', {}],
    ['bytes', new Uint8Array(3)],
  ])('is not read from %s', (_what, wrong) => {
    expect(read(wrong)).toBeUndefined();
  });

  it.each(Object.keys(payload))('is not read without %s, nor with a wrong one', (field) => {
    expect(read({ ...payload, [field]: undefined })).toBeUndefined();
    expect(read({ ...payload, [field]: null })).toBeUndefined();
    expect(read({ ...payload, [field]: [7] })).toBeUndefined();
  });

  it('is read from anything without an error', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...Object.keys(payload)), (value, field) => {
        expect(() => read(value)).not.toThrow();
        expect(() => read({ ...payload, [field]: value })).not.toThrow();
      }),
    );
  });
});

it.each([
  ['an unknown outcome', { outcome: 'exploded' }],
  ['an unknown disruption', { disruption: 'flood' }],
  ['a time that is none', { finishedAt: 'yesterday' }],
  ['a phase without seconds', { phases: [{ phase: 'Draining' }] }],
  ['a phase that is nothing', { phases: [null] }],
  ['a node without a name', { node: '' }],
  ['a name that no node has', { node: 'n'.repeat(254) }],
  ['a reason that is no text', { reason: { because: 'so' } }],
  ['a host that is back', { hostIsBack: true }],
  ['a retry that is no yes and no no', { isTriedAgain: 'later' }],
  ['a version that is no text', { leftAt: 18 }],
  ['a run that is no text', { runId: 18 }],
  ['a stop that was none', { stoppedByRollout: false }],
])('nodeFinished is not read with %s', (_what, wrong) => {
  expect(readNodeReport({ ...FULL_REPORT, ...wrong })).toBeUndefined();
});

it.each([
  ['an unknown stage', { stage: 'sleeping' }],
  ['a name that no node has', { node: 'n'.repeat(254) }],
  ['returned that is not so', { returned: false }],
  ['a slot that has no instant', { grantedAt: 1 }],
  ['a retry that is not so', { triedAgain: 'yes' }],
])('prepared is not read with %s', (_what, wrong) => {
  expect(readPrepared({ ...FULL_PREPARED, ...wrong })).toBeUndefined();
});

it.each([['worker-1'], [[1]], [['']], [null]])(
  'proceed is not read with %p as names of nodes',
  (names) => {
    expect(readProceed({ ...PROCEED, counts: names })).toBeUndefined();
    expect(readProceed({ ...PROCEED, pending: names })).toBeUndefined();
  },
);

it.each([-1, 1.5, NaN, '2', null])(
  'proceed is not read with %p as the number of the slot',
  (number) => {
    expect(readProceed({ ...PROCEED, number })).toBeUndefined();
  },
);

it.each(['', 'pool-rollout/', 'update-node/worker-1', `pool-rollout/${'p'.repeat(254)}`])(
  'attach to %j is not read, because no pool rollout has that ID',
  (reportTo) => {
    expect(readAttach({ reportTo })).toBeUndefined();
  },
);

describe('the versions of a cache', () => {
  const versions = { nodes: 12, pools: 7, policies: 0 };

  it('are read as they were sent', () => {
    expect(readVersions({ reason: 'node worker-1 joined', versions })).toEqual(versions);
  });

  it.each([
    ['nothing', undefined],
    ['an old sender', { reason: 'node worker-1 joined' }],
    ['no object', { versions: 12 }],
    ['a list', { versions: [12, 7, 0] }],
    ['one of them', { versions: { nodes: 12 } }],
    ['a text', { versions: { ...versions, nodes: '12' } }],
    ['what is no number in JSON', { versions: { ...versions, pools: null } }],
    ['what is below nothing', { versions: { ...versions, pools: -1 } }],
    ['more than can be counted', { versions: { ...versions, policies: 1e300 } }],
  ])('are not read from %s', (_what, payload) => {
    expect(readVersions(payload)).toBeUndefined();
  });

  it('are not read from anything else that JSON can hold, and never throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (payload) => {
        expect(readVersions(payload)).toBeUndefined();
        expect(readVersions({ versions: payload })).toBeUndefined();
      }),
    );
  });
});
