import { defaultPayloadConverter } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time';
import { stepOf, stepText, whyNoStep } from '../../../cli/running-step';

const NOW = Date.parse('2026-03-01T12:00:10Z');
const ago = (seconds: number) => msToTs(NOW - seconds * 1000);

type Described = Parameters<typeof stepOf>[0];

function pending(activity: Record<string, unknown>): Described {
  return { raw: { pendingActivities: [activity] } };
}

function heartbeat(details: unknown): Record<string, unknown> {
  return { heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(details)] } };
}

function textOf(described: Described): string {
  const step = stepOf(described, NOW);
  return step === undefined ? 'none' : stepText(step);
}

describe('the running step of a node update', () => {
  it('says how far a pull is', () => {
    const pull = { bytes: 12_400_000, totalBytes: 35_600_000, layers: 3, totalLayers: 7 };

    expect(textOf(pending({ attempt: 1, ...heartbeat({ at: 'pulling registry/os', pull }) }))).toBe(
      'pulling registry/os: 12.4 MB of 35.6 MB, layer 3 of 7',
    );
  });

  it('says what is known of a pull whose size is not', () => {
    const pull = { bytes: 500_000, layers: 1 };

    expect(textOf(pending({ attempt: 1, ...heartbeat({ at: 'pulling', pull }) }))).toBe(
      'pulling: 0.5 MB, 1 layer',
    );
  });

  it('says what a step waits for', () => {
    const blocker = 'waiting for room: maxUnavailable is 1';

    expect(textOf(pending({ attempt: 1, ...heartbeat({ blocker }) }))).toBe(blocker);
  });

  it('names both steps that run side by side', () => {
    const away = { state: 1, activityType: { name: 'discardStaged' } };
    const refused = { attempt: 30, lastFailure: { message: '403 Forbidden' } };
    const says = 'attempt 30, 403 Forbidden; its host worker has not picked it up yet';

    expect(textOf({ raw: { pendingActivities: [away, refused] } })).toBe(says);
    expect(textOf({ raw: { pendingActivities: [refused, away] } })).toBe(says);
  });

  it('names why the attempt before failed', () => {
    const lastFailure = { message: 'pull registry/os: connection refused' };

    expect(textOf(pending({ attempt: 4, lastFailure }))).toBe(
      'attempt 4, pull registry/os: connection refused',
    );
  });

  it('finds that among the attributes of a failure that was encoded', () => {
    const attributes = { message: 'pull registry/os: connection refused', stack_trace: '' };
    const encodedAttributes = defaultPayloadConverter.toPayload(attributes);
    const lastFailure = { message: 'Encoded failure', encodedAttributes };
    const foreign = { metadata: { encoding: new TextEncoder().encode('binary/encrypted') } };
    const closed = { message: 'Encoded failure', encodedAttributes: foreign };

    expect(textOf(pending({ attempt: 4, lastFailure }))).toBe(
      'attempt 4, pull registry/os: connection refused',
    );
    expect(textOf(pending({ attempt: 4, lastFailure: closed }))).toBe('attempt 4');
  });

  it.each([
    {
      name: 'that its host worker has not picked up',
      activity: { state: 1, activityType: { name: 'prepareUpdate' } },
      says: 'its host worker has not picked it up yet',
    },
    {
      name: 'that was scheduled a moment ago',
      activity: { state: 1, activityType: { name: 'prepareUpdate' }, scheduledTime: ago(1) },
      says: '',
    },
    {
      name: 'that a machine proves after its reboot',
      activity: { state: 1, activityType: { name: 'verifyUpdate' }, scheduledTime: ago(4) },
      says: 'waiting for its host worker to come back',
    },
    {
      name: 'that no cluster worker has picked up',
      activity: { state: 1, activityType: { name: 'takeOutOfService' } },
      says: 'no cluster worker has picked it up yet',
    },
    {
      name: 'that is picked up',
      activity: { state: 2, activityType: { name: 'prepareUpdate' } },
      says: '',
    },
    {
      name: 'that waits for its next attempt',
      activity: {
        state: 1,
        attempt: 2,
        activityType: { name: 'prepareUpdate' },
        nextAttemptScheduleTime: { seconds: 1 },
      },
      says: 'attempt 2',
    },
    {
      name: 'that a person paused',
      activity: { state: 1, paused: true, activityType: { name: 'prepareUpdate' } },
      says: 'its step is paused in Temporal',
    },
  ])('says of a step $name whom it waits for', ({ activity, says }) => {
    expect(textOf(pending({ attempt: 1, ...activity }))).toBe(says);
  });

  it('says that the whole update is paused, also between two steps', () => {
    const paused = { status: { name: 'PAUSED' } };
    const says = 'its update is paused in Temporal';

    expect(textOf({ raw: {}, ...paused })).toBe(says);
    expect(textOf({ ...pending({ attempt: 1, state: 1 }), ...paused })).toBe(says);
  });

  it('has nothing to say between two steps, at a first attempt, and of a foreign codec', () => {
    const foreign = { metadata: { encoding: new TextEncoder().encode('binary/encrypted') } };

    expect(textOf({ raw: {} })).toBe('none');
    expect(textOf(pending({ attempt: 1 }))).toBe('');
    expect(textOf(pending({ attempt: 1, heartbeatDetails: { payloads: [foreign] } }))).toBe('');
  });
});

describe('why a rollout makes no step', () => {
  const NOBODY = 'no cluster worker has picked it up yet';
  const LATE = { state: 1, scheduledTime: ago(4) };

  it.each<readonly [string, Record<string, unknown>, string | undefined]>([
    ['nobody takes its task', { pendingWorkflowTask: LATE }, NOBODY],
    ['nobody takes its step', { pendingActivities: [{ attempt: 1, ...LATE }] }, NOBODY],
    [
      'its step fails',
      { pendingActivities: [{ attempt: 3, lastFailure: { message: 'the watch is behind' } }] },
      'attempt 3, the watch is behind',
    ],
    ['nothing: its step runs', { pendingActivities: [{ attempt: 1, state: 2 }] }, undefined],
    [
      'nothing: its task is new',
      { pendingWorkflowTask: { state: 1, scheduledTime: ago(1) } },
      undefined,
    ],
    ['nothing: it waits for news', {}, undefined],
  ])('%s', (_why, raw, says) => {
    expect(whyNoStep({ raw }, NOW)).toBe(says);
  });
});
