import type { Failure } from '../../../../core/errors';
import { mayFollow } from '../../../../core/node/lifecycle';
import { isCancellable, next } from '../../../../core/node/update';
import { blockerOf, isPastReturn, shownPhase } from '../../../../core/node/update-shown';
import {
  BEGIN,
  type Answers,
  type Back,
  type PreparedHost,
  type Release,
  type StateOf,
  type UpdateEvent,
  type UpdateFacts,
  type UpdateState,
  type Working,
} from '../../../../core/node/update-states';
import { aPlan, aRestartPlan } from '../../../workflow/support/plans';

const FACTS: UpdateFacts = {
  ...{ config: 'new', found: 'whole', takesBack: false, retriesDrain: true },
};
const REBOOT: PreparedHost = { plan: aPlan(), hostIsOn: 'old', isSettled: true, tookOver: false };
const RESTART: PreparedHost = { ...REBOOT, plan: aRestartPlan() };
const APPLY_FAILED: Failure = { name: 'ApplyFailed', reason: 'disk full' };

const failed = (name: Failure['name'] = 'ApplyFailed', isLate = false): UpdateEvent => ({
  is: 'failed',
  failure: { ...(name === undefined ? {} : { name }), reason: 'disk full' },
  isLate,
});
const done = (answer: Answers[Working] = {}): UpdateEvent => ({ is: 'done', answer });
const CANCELLED: UpdateEvent = {
  is: 'cancelled',
  why: { reason: 'a person said so', holds: true },
};
const GONE: UpdateEvent = { is: 'gone', failure: { name: 'NodeDeleted', reason: 'deleted' } };

const back = (more: Partial<Back> = {}): Back => ({
  ...{
    cause: { outcome: 'failed', failure: APPLY_FAILED, isCancellation: false, isTriedLater: false },
  },
  ...{ reach: 'armed', phase: 'Rebooting', shown: 'GoingBack', prepared: REBOOT },
  ...more,
});
const RELEASE: Release = {
  ...{ outcome: 'failed', failure: APPLY_FAILED, hostIsBack: true, isProvenBack: false },
  ...{ isTriedLater: false, holds: false },
};
const ENDING = { outcome: 'failed', failure: APPLY_FAILED, phase: 'Applying' } as const;

/** One of each. */
const STATES: { readonly [K in Working]: StateOf<K> } = {
  preparing: { is: 'preparing' },
  waiting: { is: 'waiting', prepared: REBOOT },
  draining: { is: 'draining', prepared: REBOOT, isLate: false },
  applying: { is: 'applying', prepared: REBOOT },
  looking: { is: 'looking', prepared: REBOOT },
  arming: { is: 'arming', prepared: REBOOT },
  acting: { is: 'acting', prepared: RESTART },
  proving: { is: 'proving', prepared: REBOOT, rebootedFrom: 'b1' },
  returning: { is: 'returning', prepared: REBOOT, bootId: 'b2' },
  committing: { is: 'committing', prepared: REBOOT, times: 1 },
  provingAgain: { is: 'provingAgain', prepared: REBOOT, times: 1 },
  readyAgain: { is: 'readyAgain', prepared: REBOOT, times: 1 },
  completing: { is: 'completing', prepared: REBOOT, hostIsOn: 'new' },
  asking: { is: 'asking', back: back({ reach: 'commitOrdered' }) },
  readyAfterAll: { is: 'readyAfterAll', back: back({ reach: 'committed', hostIsOn: 'new' }) },
  lookingBack: { is: 'lookingBack', back: back(), times: 1 },
  cordoningAgain: { is: 'cordoningAgain', back: back(), times: 1 },
  drainingAgain: { is: 'drainingAgain', back: back(), times: 1 },
  undoing: { is: 'undoing', back: back() },
  provingBack: { is: 'provingBack', back: back(), rebootedFrom: 'b2' },
  readyBack: { is: 'readyBack', back: back(), bootId: 'b3' },
  settling: { is: 'settling', back: back({ reach: 'nothing' }), how: 'undo' },
  releasing: {
    ...{ is: 'releasing', back: back(), release: RELEASE, drops: true },
    ...{ isGivenBack: false, ending: ENDING },
  },
};
const NAMES = Object.keys(STATES) as readonly Working[];

const after = (state: UpdateState, event: UpdateEvent, facts: Partial<UpdateFacts> = {}) => {
  if (state.is === 'ended') throw new Error('it has ended');
  return next(state, event, { ...FACTS, ...facts });
};
const applyingWith = (plan: Partial<PreparedHost['plan']>): UpdateState => ({
  ...{ is: 'applying', prepared: { ...REBOOT, plan: { ...REBOOT.plan, ...plan } } },
});
const released = (state: UpdateState) => {
  if (state.is !== 'releasing') throw new Error(`it is ${state.is}`);
  return state;
};

// state, after a failure, after a cancellation, how the host is taken for when it is given back at once
const AFTER_TROUBLE: readonly [Working, Working, Working | 'stays', string][] = [
  ['preparing', 'releasing', 'releasing', 'back'],
  ['waiting', 'releasing', 'releasing', 'back'],
  ['draining', 'releasing', 'releasing', 'back'],
  ['applying', 'undoing', 'undoing', ''],
  ['looking', 'undoing', 'undoing', ''],
  ['arming', 'lookingBack', 'stays', ''],
  ['acting', 'undoing', 'undoing', ''],
  ['proving', 'lookingBack', 'stays', ''],
  ['returning', 'lookingBack', 'stays', ''],
  ['committing', 'asking', 'stays', ''],
  ['provingAgain', 'asking', 'stays', ''],
  ['readyAgain', 'asking', 'stays', ''],
  ['completing', 'releasing', 'stays', 'back'],
  ['asking', 'releasing', 'stays', 'stuck'],
  ['readyAfterAll', 'releasing', 'stays', 'back'],
  ['lookingBack', 'undoing', 'stays', ''],
  ['cordoningAgain', 'releasing', 'stays', 'stuck'],
  ['drainingAgain', 'releasing', 'stays', 'stuck'],
  ['undoing', 'releasing', 'stays', 'stuck'],
  ['provingBack', 'releasing', 'stays', 'stuck'],
  ['readyBack', 'releasing', 'stays', 'back'],
  ['settling', 'releasing', 'stays', 'stuck'],
];

describe('the state after a step that', () => {
  it('has failed or was cancelled is in a row for each state', () => {
    expect([...AFTER_TROUBLE.map(([name]) => name), 'releasing']).toEqual(NAMES);
  });

  it.each(AFTER_TROUBLE)(
    'has failed or was cancelled: %s',
    (name, afterFailure, afterCancel, host) => {
      const state = STATES[name];
      const fails = after(state, failed());

      expect(fails.is).toBe(afterFailure);
      expect(after(state, CANCELLED).is).toBe(afterCancel === 'stays' ? name : afterCancel);
      expect(isCancellable(state)).toBe(afterCancel !== 'stays');
      if (host !== '') expect(released(fails).release.hostIsBack).toBe(host === 'back');
    },
  );

  it.each(['proving', 'returning'] as const)('was cancelled without a reboot: %s', (name) => {
    const state = { ...STATES[name], prepared: RESTART };

    expect(isCancellable(state)).toBe(true);
    expect(after(state, CANCELLED).is).toBe('undoing');
  });

  it('was the last one has ended, however the release went', () => {
    const ended = { is: 'ended', ending: ENDING };
    for (const event of [done(), failed()]) expect(after(STATES.releasing, event)).toEqual(ended);
    expect(after(STATES.releasing, CANCELLED)).toBe(STATES.releasing);
  });

  it.each(NAMES)('was ended by the end of its Node: %s', (name) => {
    const phase = shownPhase(STATES[name]);
    expect(after(STATES[name], GONE)).toEqual({
      is: 'ended',
      ending: { outcome: 'cancelled', failure: { name: 'NodeDeleted', reason: 'deleted' }, phase },
    });
  });

  it('goes on dropping what is staged once its Node is given back', () => {
    const dropping = after({ ...STATES.releasing, drops: true }, { is: 'given back' });

    expect(dropping).toMatchObject({ is: 'releasing', isGivenBack: true });
    expect(blockerOf(dropping)).toBe('the host to drop what it has staged');
  });
});

describe('the state after an answer', () => {
  const prepare = { plan: REBOOT.plan, currentConfig: 'old', alreadyOnTarget: false };
  it.each<[string, UpdateState, UpdateEvent, object]>([
    ['prepared', BEGIN, done(prepare), { is: 'waiting', prepared: REBOOT }],
    ['on target', BEGIN, done({ ...prepare, alreadyOnTarget: true }), { is: 'completing' }],
    ['taken out, with pods', STATES.waiting, done({}), { is: 'draining', isLate: false }],
    ['taken out, without pods', STATES.waiting, done({ drained: {} }), { is: 'applying' }],
    ['no drain', { is: 'waiting', prepared: RESTART }, done({}), { is: 'applying' }],
    ['drained', STATES.draining, done(), { is: 'applying' }],
    ['drained late', { ...STATES.draining, isLate: true }, done(), { is: 'arming' }],
    ['applied', STATES.applying, done(), { is: 'looking' }],
    ['applied, restarts', { is: 'applying', prepared: RESTART }, done(), { is: 'acting' }],
    ['applied, no drain', applyingWith({ drain: false }), done(), { is: 'arming' }],
    [
      'applied, nothing to do',
      applyingWith({ drain: false, reboot: false }),
      done(),
      { is: 'proving' },
    ],
    ['empty', STATES.looking, done({ isEmpty: true }), { is: 'arming' }],
    ['a late pod', STATES.looking, done({ isEmpty: false }), { is: 'draining', isLate: true }],
    ['armed', STATES.arming, done({ bootId: 'b1' }), { is: 'proving', rebootedFrom: 'b1' }],
    ['acted', STATES.acting, done(), { is: 'proving' }],
    ['proven', STATES.proving, done({ bootId: 'b2' }), { is: 'returning', bootId: 'b2' }],
    ['Ready', STATES.returning, done(), { is: 'committing', times: 1 }],
    ['committed', STATES.committing, done(), { is: 'completing', hostIsOn: 'new' }],
    [
      'silent',
      STATES.committing,
      failed('HostUnreachable', true),
      { is: 'provingAgain', times: 1 },
    ],
    [
      'silent too often',
      { ...STATES.committing, times: 5 },
      failed('HostUnreachable', true),
      { is: 'asking' },
    ],
    ['proven again', STATES.provingAgain, done(), { is: 'readyAgain', times: 1 }],
    ['Ready for longer', STATES.readyAgain, done(), { is: 'committing', times: 2 }],
    ['completed', STATES.completing, done(), { is: 'ended', ending: { outcome: 'updated' } }],
    ['has committed', STATES.asking, done({ committed: true }), { is: 'readyAfterAll' }],
    ['has not committed', STATES.asking, done({}), { is: 'lookingBack' }],
    ['Ready after all', STATES.readyAfterAll, done(), { is: 'completing', hostIsOn: 'new' }],
    ['our cordon', STATES.lookingBack, done('ours'), { is: 'undoing' }],
    ['pods came', STATES.lookingBack, done('ours, and pods'), { is: 'drainingAgain', times: 1 }],
    ['uncordoned', STATES.lookingBack, done('none'), { is: 'cordoningAgain', times: 1 }],
    ['a person cordoned', STATES.lookingBack, done('of a person'), { is: 'drainingAgain' }],
    [
      'uncordoned, seen late',
      STATES.lookingBack,
      failed('UncordonedByUser'),
      { is: 'cordoningAgain' },
    ],
    ['cordoned again', STATES.cordoningAgain, done({}), { is: 'drainingAgain', times: 1 }],
    ['cordoned, no pods', STATES.cordoningAgain, done({ drained: {} }), { is: 'undoing' }],
    ['overtaken', STATES.cordoningAgain, failed('CordonedByUser'), { is: 'lookingBack', times: 2 }],
    [
      'overtaken in its drain',
      STATES.drainingAgain,
      failed('UncordonedByUser'),
      { is: 'lookingBack', times: 2 },
    ],
    [
      'overtaken too often',
      { ...STATES.drainingAgain, times: 5 },
      failed('UncordonedByUser'),
      { is: 'releasing', release: { hostIsBack: false } },
    ],
    ['drained again', STATES.drainingAgain, done(), { is: 'undoing' }],
    [
      'undone, boots back',
      STATES.undoing,
      done({ rebooting: true, bootId: 'b2', because: 'it had lost Temporal' }),
      { is: 'provingBack', rebootedFrom: 'b2', because: 'it had lost Temporal' },
    ],
    ['proven back', STATES.provingBack, done({ bootId: 'b3' }), { is: 'readyBack', bootId: 'b3' }],
    ['Ready again', STATES.readyBack, done(), { is: 'releasing', release: { hostIsBack: true } }],
    [
      'settled',
      STATES.settling,
      done({ currentConfig: 'old' }),
      { is: 'releasing', drops: false, release: { hostIsBack: true, hostIsOn: 'old' } },
    ],
    [
      'not settled',
      STATES.settling,
      done({ unsettled: true }),
      { is: 'releasing', release: { hostIsBack: false } },
    ],
  ])('%s', (_so, state, event, expected) => {
    expect(after(state, event)).toMatchObject(expected);
  });

  it('is no reboot without an answer of its host', () => {
    const undone = after(STATES.undoing, done({ rebooting: false, bootId: 'b2' }));

    expect(undone).not.toHaveProperty('rebootedFrom');
    expect(after(undone, done({ bootId: 'b2' }))).not.toHaveProperty('bootId');
  });

  it('is the end of an update whose plan is refused, in the phase in which it was made', () => {
    const plan = { ...aPlan(), reconcilable: { ok: false, reason: 'kernelType' } } as const;
    const refused = after(BEGIN, done({ plan, alreadyOnTarget: false }));

    const failure = { name: 'Unreconcilable', reason: 'kernelType' };
    expect(released(refused).ending).toEqual({ outcome: 'failed', failure, phase: 'Preparing' });
    expect(released(refused).drops).toBe(true);
  });
});

it('an update without a reboot waits for its node in any boot', () => {
  const returning = after({ is: 'proving', prepared: REBOOT }, done({ bootId: 'b1' }));

  expect(returning).toEqual({ is: 'returning', prepared: REBOOT });
});

describe('what a node is given back with', () => {
  it.each<[string, UpdateState, UpdateEvent, object, Partial<UpdateFacts>?]>([
    ['the reason', STATES.draining, failed(), { outcome: 'failed', failure: APPLY_FAILED }],
    [
      'a drain is tried later',
      STATES.draining,
      failed('DrainTimedOut'),
      { isTriedLater: true, outcome: 'cancelled' },
    ],
    [
      'it is not, where a person has cancelled it meanwhile',
      {
        ...STATES.readyBack,
        back: back({ cause: { ...back().cause, outcome: 'cancelled', isTriedLater: true } }),
      },
      done(),
      { isTriedLater: false, outcome: 'cancelled', holds: true },
      { cancelled: { reason: 'a person said so', holds: true } },
    ],
    ['a person cancelled it', STATES.waiting, CANCELLED, { outcome: 'cancelled', holds: false }],
    ['an outage is no failure', STATES.waiting, failed('ApiUnavailable'), { outcome: 'cancelled' }],
    ['nor is a retarget', STATES.waiting, failed('Retargeted'), { outcome: 'cancelled' }],
    [
      'nor is an order that the cluster overtook',
      STATES.preparing,
      failed('OrderOutdated'),
      { outcome: 'cancelled' },
    ],
    [
      'it has committed',
      STATES.completing,
      failed('ApiUnavailable'),
      { outcome: 'failed', hostIsOn: 'new' },
    ],
    ['it is stuck', STATES.undoing, failed(), { failure: { name: 'RollbackFailed' } }],
    [
      'it failed once it had committed',
      STATES.readyAfterAll,
      failed('NodeNotReady'),
      {
        hostIsBack: true,
        failure: {
          name: 'NodeNotReady',
          reason:
            'disk full; ApplyFailed: disk full; its host has committed new, so it stays on it',
        },
      },
    ],
    [
      'it was proven back from what another update had left',
      {
        ...STATES.readyBack,
        back: back({
          cause: { ...back().cause, failure: { name: 'EarlierUpdateLost', reason: 'x' } },
        }),
      },
      done(),
      { isProvenBack: true },
    ],
    [
      'what came to light',
      { ...STATES.readyBack, because: 'it had lost Temporal', kept: ['/etc/a'] },
      done(),
      {
        failure: {
          reason:
            'disk full; it had lost Temporal; what somebody else has put into /etc/a stays there',
        },
      },
    ],
  ])('%s', (_so, state, event, expected, facts = {}) => {
    expect(released(after(state, event, facts)).release).toMatchObject(expected);
  });

  it.each<[string, UpdateState, UpdateEvent, boolean]>([
    ['when it is cancelled', STATES.waiting, CANCELLED, false],
    ['when it fails past its point of no return', STATES.readyBack, done(), false],
    ['but not one that is taken back from another update', STATES.waiting, CANCELLED, true],
  ])(
    'a node is held by the person who cancelled its update: %s',
    (_so, state, event, takesBack) => {
      const cancelled = { reason: 'a person said so', holds: true } as const;
      const { release } = released(after(state, event, { cancelled, takesBack }));
      expect(release.holds).toBe(!takesBack);
    },
  );

  it.each<[string, UpdateState, UpdateEvent, boolean]>([
    ['prepared', STATES.draining, failed(), true],
    ['no answer yet', BEGIN, CANCELLED, true],
    ['it refuses', BEGIN, failed('OrderRefused'), false],
    ['out of reach', STATES.waiting, failed('HostUnreachable'), false],
    ['booted', STATES.readyBack, done(), false],
    ['stuck', { is: 'undoing', back: back({ reach: 'applied' }) }, failed(), false],
  ])('tells the host to drop what is staged or not: %s', (_so, state, event, drops) => {
    expect(released(after(state, event)).drops).toBe(drops);
  });

  it.each<[string, UpdateState, Partial<UpdateFacts>, object]>([
    ['nobody had begun', BEGIN, {}, { release: { hostIsBack: true } }],
    ['something may be left', BEGIN, { found: 'left' }, { is: 'settling', how: 'discard' }],
    [
      'it took something over',
      { is: 'waiting', prepared: { ...REBOOT, tookOver: true } },
      {},
      { is: 'settling', how: 'undo' },
    ],
    [
      'only a reboot takes back what is left',
      { is: 'waiting', prepared: { ...REBOOT, isSettled: false } },
      {},
      { release: { hostIsBack: false }, drops: false },
    ],
  ])('asks a host that nothing was changed on whether it is whole: %s', (_so, state, facts, to) => {
    expect(after(state, failed(), facts)).toMatchObject(to);
  });

  it('a silent host that was told to commit has failed on its config', () => {
    const asked = after({ ...STATES.committing, times: 5 }, failed('HostUnreachable', true));

    expect(asked).toMatchObject({ back: { cause: { failure: { name: 'VerifyFailed' } } } });
  });
});

describe('what people see', () => {
  it.each(NAMES)('names a blocker, and no phase follows that may not: %s', (name) => {
    const state = STATES[name];
    expect(blockerOf(state)).toMatch(/^[a-z].+/i);
    for (const event of [failed(), CANCELLED, GONE]) {
      const [from, to] = [shownPhase(state), shownPhase(after(state, event))];
      expect([from, to, from === to || mayFollow(from, to)]).toEqual([from, to, true]);
    }
  });

  it('goes from the machine to its node', () => {
    const seen = [STATES.proving, after(STATES.proving, done({ bootId: 'b2' }))];
    expect(seen.map((state) => `${shownPhase(state)}: ${blockerOf(state)}`)).toEqual([
      'Rebooting: the machine to come back and prove what it has',
      'Verifying: the node to be Ready',
    ]);
  });

  it('the point of no return is the arming of a reboot', () => {
    const past = NAMES.filter((name) => !('back' in STATES[name]) && isPastReturn(STATES[name]));
    expect(past).toEqual([
      ...['arming', 'proving', 'returning', 'committing', 'provingAgain', 'readyAgain'],
      'completing',
    ]);
  });
});
