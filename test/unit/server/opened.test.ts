import { closeAll, listenAt, type Opened } from '../../../server/closing';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Ends when it is cut, or never. */
function stubborn(name: string, hears = true): Opened & { readonly wasCut: () => boolean } {
  let end: () => void = () => undefined;
  let isCut = false;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    name,
    close: () => ended,
    cut: () => {
      isCut = true;
      if (hears) end();
    },
    wasCut: () => isCut,
  };
}

function aLog() {
  const warned: string[] = [];
  return {
    warned,
    warn: (fields: object, message: string) =>
      void warned.push(`${message} ${JSON.stringify(fields)}`),
  };
}

describe('the end of what is open', () => {
  it('takes no longer than its parts', async () => {
    const log = aLog();

    await closeAll([{ name: 'a', close: async () => undefined }], { withinMs: 10_000, log });

    expect(log.warned).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is one time for all, after which those that go on are cut off', async () => {
    const log = aLog();
    const [first, second] = [stubborn('a'), stubborn('b')];
    let isOver = false;
    const over = closeAll([first, second, { name: 'c', close: async () => undefined }], {
      withinMs: 10_000,
      log,
    }).then(() => {
      isOver = true;
    });

    await jest.advanceTimersByTimeAsync(9_999);
    expect([first.wasCut(), isOver]).toEqual([false, false]);
    await jest.advanceTimersByTimeAsync(1);

    await over;
    expect([first.wasCut(), second.wasCut()]).toEqual([true, true]);
    expect(log.warned).toEqual(['cut off: they did not end in time {"parts":["a","b"]}']);
  });

  it('comes even when a part does not hear, and names it', async () => {
    const log = aLog();
    const over = closeAll([stubborn('deaf', false)], { withinMs: 10_000, log });

    await jest.advanceTimersByTimeAsync(11_000);

    await over;
    expect(log.warned.at(-1)).toBe('left open: they cannot be closed {"parts":["deaf"]}');
  });

  it('comes for all when one cannot be closed', async () => {
    const log = aLog();
    let isClosed = false;

    await closeAll(
      [
        { name: 'a', close: () => Promise.reject(new Error('no such socket')) },
        {
          name: 'b',
          close: async () => {
            isClosed = true;
          },
        },
      ],
      { withinMs: 10_000, log },
    );

    expect(isClosed).toBe(true);
    expect(log.warned).toEqual(['closing failed {"part":"a","reason":"no such socket"}']);
  });
});

it('says which setting names a port that cannot be had', async () => {
  const app = {
    listen: () => Promise.reject(new Error('EADDRINUSE')),
    server: { address: () => null },
  };

  await expect(
    listenAt(app, { host: '127.0.0.1', port: 22_624, setting: 'hostPort, --host-port' }),
  ).rejects.toThrow(
    'the server cannot listen on 127.0.0.1 port 22624 (hostPort, --host-port): EADDRINUSE',
  );
});
