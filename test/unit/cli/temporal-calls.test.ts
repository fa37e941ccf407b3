import {
  NamespaceNotFoundError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { EXIT } from '../../../cli/exit-codes';
import { TemporalCalls } from '../../../cli/temporal-calls';

const ID = 'pool-rollout/worker';

/** The SDK's error for a gRPC status. */
function fault(code: number, details = 'details'): Error {
  const cause = Object.assign(new Error(details), { code, details, metadata: {} });
  return new ServiceError('the call failed', { cause });
}

function given() {
  const limits: number[] = [];
  const ctrlC = new AbortController();
  const calls = new TemporalCalls({
    address: 'temporal:7233',
    namespace: 'prod',
    signal: ctrlC.signal,
    connection: {
      withDeadline: (deadline, call) => {
        limits.push(Number(deadline) - Date.now());
        return call();
      },
      // Like the SDK: the current call ends with CANCELLED.
      withAbortSignal: (signal, call) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(fault(1)));
          call().then(resolve, reject);
        }),
    },
  });
  return { calls, ctrlC, limits };
}

const never = () => new Promise<never>(() => undefined);

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('what goes wrong', () => {
  it.each([
    { name: 'a server that is away', error: fault(14), says: 'Temporal at temporal:7233 does not' },
    { name: 'a server that is slow', error: fault(4), says: 'Temporal at temporal:7233 does not' },
    { name: 'a server that is busy', error: fault(8, 'busy'), says: 'cannot answer: busy' },
  ])('of $name is a control plane out of reach', async ({ error, says }) => {
    await expect(given().calls.ofServer(() => Promise.reject(error))).rejects.toMatchObject({
      exitCode: EXIT.UNREACHABLE,
      message: expect.stringContaining(says) as unknown,
    });
  });

  it.each([
    { name: 'nobody polls', error: fault(9, 'no poller seen') },
    { name: 'nobody answers in time', error: fault(4) },
    {
      name: 'an update is not carried out in time',
      error: new WorkflowUpdateRPCTimeoutOrCancelledError('timeout', { cause: faultCause(4) }),
    },
  ])('when $name is no cluster worker', async ({ error }) => {
    await expect(given().calls.request(ID, () => Promise.reject(error))).rejects.toMatchObject({
      exitCode: EXIT.UNREACHABLE,
      message: expect.stringMatching(
        /^no cluster worker answers for pool-rollout\/worker.*slipway-cluster-worker.*may still/,
      ) as unknown,
    });
  });

  it('when a query changes nothing is not said to be carried out later', async () => {
    await expect(given().calls.ofWorker(ID, () => Promise.reject(fault(4)))).rejects.toMatchObject({
      message: expect.not.stringContaining('may still') as unknown,
    });
  });

  it('with a namespace that is not there is a wrong flag', async () => {
    const error = new NamespaceNotFoundError('prod');
    await expect(given().calls.ofServer(() => Promise.reject(error))).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringMatching(/no namespace prod.*--temporal-namespace/) as unknown,
    });
  });

  it('with the key is a refusal', async () => {
    const error = fault(16, 'unauthorized');
    await expect(given().calls.ofServer(() => Promise.reject(error))).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message: expect.stringMatching(/unauthorized.*--temporal-api-key/) as unknown,
    });
  });

  it.each([
    new WorkflowNotFoundError('gone', ID, undefined),
    new WorkflowUpdateFailedError('refused', new Error('too late')),
    new TypeError('a bug'),
  ])('is left alone when it is an answer or a bug: %s', async (error) => {
    await expect(given().calls.request(ID, () => Promise.reject(error))).rejects.toBe(error);
  });
});

function faultCause(code: number): Error {
  return fault(code).cause as Error;
}

it('no call may take for ever; a request has the time of a restart', async () => {
  const { calls, limits } = given();

  await calls.ofServer(() => Promise.resolve());
  await calls.ofWorker(ID, () => Promise.resolve());
  await calls.request(ID, () => Promise.resolve());

  expect(limits).toEqual([10_000, 10_000, 30_000]);
});

it('Ctrl-C ends a call, and says that its request may still be carried out', async () => {
  const { calls, ctrlC } = given();
  const asked = calls.request(ID, never);
  ctrlC.abort();

  await expect(asked).rejects.toMatchObject({
    exitCode: EXIT.UNREACHABLE,
    message: expect.stringMatching(/^interrupted before a cluster worker.*may still/) as unknown,
  });
  await expect(calls.ofServer(never)).rejects.toMatchObject({ exitCode: EXIT.UNREACHABLE });
});

it('the end waits for what is under way, which it cuts off', async () => {
  const { calls } = given();
  const asked = calls.ofServer(never);
  const outcome = asked.then(
    () => 'answered',
    () => 'cut off',
  );

  await calls.end();

  await expect(outcome).resolves.toBe('cut off');
});
