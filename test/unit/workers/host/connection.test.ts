import { connected } from '../../../../workers/host/connection';
import { createLogger } from '../../../../process/logging';

const log = createLogger({ process: 'test', level: 'silent' });

jest.mock('@temporalio/worker', () => ({
  NativeConnection: { connect: async () => ({ close: async () => undefined }) },
}));
jest.mock('../../../../process/temporal/runtime', () => ({
  installTemporalRuntime: () => undefined,
}));

describe('a connection with a deadline', () => {
  const settings = { temporalAddress: 'temporal:7233', temporalNamespace: 'slipway' };

  it.each([
    ['ends', async () => undefined],
    ['fails', async () => Promise.reject(new Error('shut down by force'))],
  ])('says that it passed while the work went on, which then %s', async (_how, end) => {
    const stop = new AbortController();
    const deadline = new AbortController();

    const work = async () => {
      deadline.abort();
      return end();
    };

    const inTime = { signal: stop.signal, log, deadline: deadline.signal };
    expect(await connected(settings, inTime, work)).toBe(true);
  });

  it('says nothing of it when the process stops', async () => {
    const stop = new AbortController();
    const deadline = new AbortController();

    const work = async () => {
      stop.abort();
      deadline.abort();
    };

    const inTime = { signal: stop.signal, log, deadline: deadline.signal };
    expect(await connected(settings, inTime, work)).toBe(false);
  });
});
