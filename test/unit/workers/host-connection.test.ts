import { connected, withRenewals } from '../../../workers/host-connection';
import { createLogger } from '../../../workers/logging';

const log = createLogger({ process: 'test', level: 'silent' });

jest.mock('@temporalio/worker', () => ({
  NativeConnection: { connect: async () => ({ close: async () => undefined }) },
}));
jest.mock('../../../workers/temporal-runtime', () => ({ installTemporalRuntime: () => undefined }));

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

describe('a certificate for Temporal', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const settings = (pem: string) => ({
    temporalAddress: 'temporal:7233',
    temporalNamespace: 'slipway',
    temporalTls: { clientCertPair: { crt: Buffer.from(pem), key: Buffer.from(pem) } },
  });
  const untilAborted = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

  /** Serves until its signal aborts, and counts what it was served with. */
  function serving() {
    const served: string[] = [];
    const serve = async (current: ReturnType<typeof settings>, signal: AbortSignal) => {
      served.push(current.temporalTls.clientCertPair.crt.toString());
      await untilAborted(signal);
      return true;
    };
    return { served, serve };
  }

  it('that is renewed is used within a minute, by a new connection', async () => {
    const stop = new AbortController();
    const { served, serve } = serving();
    let pem = 'old';
    const running = withRenewals(
      settings('old'),
      () => settings(pem),
      { signal: stop.signal, log },
      serve,
    );

    await jest.advanceTimersByTimeAsync(600_000);
    expect(served).toEqual(['old']);
    pem = 'new';
    await jest.advanceTimersByTimeAsync(60_000);
    expect(served).toEqual(['old', 'new']);
    await jest.advanceTimersByTimeAsync(600_000);
    expect(served).toEqual(['old', 'new']);

    stop.abort();
    await running;
  });

  it('that cannot be read for a moment is looked at again', async () => {
    const stop = new AbortController();
    const { served, serve } = serving();
    let isWhole = false;
    const read = () => {
      if (!isWhole) throw new Error('temporalTlsCert: cannot read');
      return settings('new');
    };
    const running = withRenewals(settings('old'), read, { signal: stop.signal, log }, serve);

    await jest.advanceTimersByTimeAsync(60_000);
    isWhole = true;
    await jest.advanceTimersByTimeAsync(60_000);

    expect(served).toEqual(['old', 'new']);
    stop.abort();
    await running;
  });

  it('ends with what it serves', async () => {
    const signal = new AbortController().signal;
    const read = () => settings('old');

    await withRenewals(settings('old'), read, { signal, log }, async () => false);

    expect(jest.getTimerCount()).toBe(0);
  });
});
