/** On a disk with slow calls the host worker still sends heartbeats. */

import { MockActivityEnvironment } from '@temporalio/testing';
import {
  createHostActivities,
  currentStep,
  withHeartbeats,
} from '../../../activities/host/host-activities';
import { type FileSystem, NODE_FILE_SYSTEM } from '../../../adapters/host';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../../unit/host/a-host';

jest.setTimeout(120_000);

const FILES = 100;
const CALL_MS = 80;
/** Every three seconds, plus one batch of files, which is checked in one go; not plus all files. */
const LONGEST_SILENCE_MS = 3_000 + 64 * CALL_MS;

const config = (name: string, text: string) =>
  aConfig(name, {
    config: {
      storage: {
        files: Array.from({ length: FILES }, (_, index) => aFile(`/etc/files/${index}`, text)),
      },
    },
  });
const OLD = config('rendered-worker-old', 'old');
const NEW = config('rendered-worker-new', 'new');

describe('a host with a slow disk', () => {
  let host: TestHost;
  /** Virtual time: only calls on this disk take time. */
  let now = 0;

  beforeEach(async () => {
    host = await aHost([OLD, NEW]);
    now = 0;
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    host.remove();
  });

  const slowly = <Call extends (...args: never[]) => unknown>(call: Call): Call =>
    ((...args: Parameters<Call>) => {
      now += CALL_MS;
      return call(...args);
    }) as Call;
  const slow: FileSystem = {
    ...NODE_FILE_SYSTEM,
    lstatSync: slowly(NODE_FILE_SYSTEM.lstatSync as () => unknown) as FileSystem['lstatSync'],
    readFileSync: slowly(
      NODE_FILE_SYSTEM.readFileSync as () => unknown,
    ) as FileSystem['readFileSync'],
    rename: slowly(NODE_FILE_SYSTEM.rename),
  };

  /** Runs a step. @returns the times of its heartbeats on this disk */
  async function heartbeatsOf(step: 'prepareUpdate' | 'applyUpdate'): Promise<readonly number[]> {
    const ports = { ...(await host.ports(slow)), context: currentStep };
    const activities = withHeartbeats(createHostActivities(ports));
    const environment = new MockActivityEnvironment();
    const beats = [now];
    environment.on('heartbeat', () => beats.push(now));
    let isOver = false;
    let fired = now;
    // Timers fire only when the event loop gets its turn.
    const turn = (): void => {
      if (isOver) return;
      jest.advanceTimersByTime(now - fired);
      fired = now;
      setImmediate(turn);
    };
    setImmediate(turn);
    await environment.run(activities[step], orderFor(NEW, step)).finally(() => (isOver = true));
    return [...beats, now];
  }

  it('heartbeats all the while that it looks and writes', async () => {
    const first = await host.activities();
    for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await first[step](orderFor(OLD, step, { orderId: `old/${step}` }));
    }
    for (const step of ['prepareUpdate', 'applyUpdate'] as const) {
      const beats = await heartbeatsOf(step);
      const silences = beats.slice(1).map((at, index) => at - (beats[index] ?? 0));

      expect(now).toBeGreaterThan(FILES * CALL_MS);
      expect(Math.max(...silences)).toBeLessThanOrEqual(LONGEST_SILENCE_MS);
    }
  });
});
