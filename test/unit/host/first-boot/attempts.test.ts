/** The program of a first boot: its waits, its end, and its messages. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readFirstBoot, writeFirstBoot } from '../../../../host/first-boot/first-boot-record';
import { FIRST_BOOT_PLACES } from '../../../../host/first-boot/ignition-files';
import type { HostPorts } from '../../../../host/ports';
import { fail } from '../../../../core/errors';
import { firstBoot } from '../../../../host/first-boot/attempts';
import { machineStatus } from '../../../../workers/host/console';
import { statusLines } from '../../../../host/status/status-text';
import { createLogger } from '../../../../process/logging';
import { pinKeys } from '../../../support/signed-orders';
import { aConfig, aFile, aHost, type TestHost } from '../a-host';

const CONFIG = aConfig('rendered-worker-1', {
  kernelArguments: ['nosmt'],
  config: { storage: { files: [aFile('/etc/motd', 'served')] } },
});

let host: TestHost;
let pauses: number[];
let reboots: string[];
let clockMs: number;
/** The driver throws it instead of changing kernel arguments. */
let trouble: (() => Error | undefined) | undefined;
const abort = new AbortController();

beforeEach(async () => {
  host = await aHost([CONFIG]);
  [pauses, reboots, clockMs, trouble] = [[], [], Date.parse('2030-01-01T00:00:00Z'), undefined];
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(host.root, path)), { recursive: true });
    writeFileSync(join(host.root, path), text);
  };
  const object = { metadata: { name: CONFIG.reference.name }, spec: CONFIG.spec };
  write('/etc/motd', 'served');
  write(FIRST_BOOT_PLACES.SERVED, JSON.stringify(object));
  write(FIRST_BOOT_PLACES.ENCAPSULATED, JSON.stringify(object));
});
afterEach(() => host.remove());

const settings = () => ({
  node: 'worker-1',
  root: host.root,
  driver: 'none' as const,
  kubelet: {},
  orderKeysFile: pinKeys(host.root),
  kubeletHealthSeconds: 0,
  inhibitorSeconds: 0,
  shutdownSeconds: 0,
});

const start = (
  more: {
    readonly pause?: (ms: number) => Promise<void>;
    readonly leap?: number;
    /** Difference between the time of day and monotonic time. */
    readonly timeOfDay?: () => number;
    readonly files?: (files: HostPorts['files']) => HostPorts['files'];
  } = {},
) =>
  firstBoot(
    {
      node: 'worker-1',
      ports: async () => {
        const ports = await host.ports();
        const setKernelArguments: typeof ports.os.setKernelArguments = async (...given) => {
          const error = trouble?.();
          if (error !== undefined) throw error;
          await ports.os.setKernelArguments(...given);
        };
        const files = more.files?.(ports.files) ?? ports.files;
        return { ...ports, files, os: { ...ports.os, setKernelArguments } };
      },
      reboot: async (reason) => void reboots.push(reason),
    },
    {
      signal: abort.signal,
      log: createLogger({ process: 'test', level: 'silent' }),
      now: () => new Date(clockMs + (more.timeOfDay?.() ?? 0)),
      clock: () => clockMs,
      pause: async (ms) => {
        pauses.push(ms);
        clockMs += more.leap ?? ms;
        await more.pause?.(ms);
      },
    },
  );
const record = async () => readFirstBoot((await host.ports()).files);

describe('the program of a first boot', () => {
  it('asks for the reboot, and is complete after it', async () => {
    await start();
    expect(reboots).toEqual([`first boot of ${CONFIG.reference.name}`]);
    expect(await record()).toMatchObject({ state: 'rebooting', reboots: 1 });

    await host.boot();
    await start();

    expect(reboots).toHaveLength(1);
    expect(await record()).toMatchObject({ state: 'complete', reboots: 1 });
  });

  it('waits for a registry that is away, longer each time, and says so', async () => {
    trouble = () => (pauses.length < 8 ? fail('PullFailed', 'registry: no route') : undefined);
    const lines: string[] = [];
    const look = async (): Promise<void> => {
      if (lines.length > 0) return;
      const report = await machineStatus(settings());
      lines.push(...statusLines(report));
    };

    await start({ pause: look });

    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000));
    expect(lines).toContainEqual(
      expect.stringMatching(/^first boot: +waiting since 2030.*, 1 try/),
    );
    expect(lines).toContainEqual(expect.stringContaining('registry: no route'));
    expect(reboots).toHaveLength(1);
  });

  it('gives up after a day, with the reason', async () => {
    trouble = () => fail('PullFailed', 'registry: no route');

    await expect(start({ leap: 4 * 3_600_000 })).rejects.toMatchObject({ name: 'PullFailed' });

    expect(pauses).toHaveLength(6);
    expect(await record()).toMatchObject({ state: 'failed', reason: 'registry: no route' });
    expect(reboots).toEqual([]);
  });

  it('gives up no sooner and no later because the time of day is set', async () => {
    trouble = () => (pauses.length < 3 ? fail('PullFailed', 'registry: no route') : undefined);
    const years = 40 * 365 * 86_400_000;

    await start({ timeOfDay: () => (pauses.length === 0 ? -years : 0) });

    // Each attempt begins with the local config, whatever happened before.
    expect(pauses).toHaveLength(3);
    expect(reboots).toHaveLength(1);
  });

  it('says what went wrong, and not that it cannot be written down', async () => {
    trouble = () => fail('ImageRefused', 'another architecture');
    let isFull = false;
    const full = (): Promise<never> => Promise.reject(new Error('no space left on device'));

    await expect(
      start({
        files: (files) => ({
          ...files,
          writeFile: (path, ...given) =>
            isFull && path === '/var/lib/slipway/first-boot.json'
              ? full()
              : files.writeFile(path, ...given),
        }),
        pause: async () => {
          isFull = true;
        },
      }),
    ).rejects.toMatchObject({ name: 'ImageRefused' });

    // It also kept trying.
    expect(pauses.length).toBeGreaterThan(2);
  });

  it('does not wait a day for what only a person can fix', async () => {
    trouble = () => fail('ImageRefused', 'another architecture');

    await expect(start()).rejects.toMatchObject({ name: 'ImageRefused' });

    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(600_000);
    expect((await machineStatus(settings())).problems).toContainEqual(
      'the first boot is not complete: another architecture',
    );
  });

  it('gives what only a person can fix its time also after a registry that was away', async () => {
    const awayMs = 6 * 60_000;
    const begin = clockMs;
    trouble = () =>
      clockMs - begin < awayMs
        ? fail('PullFailed', 'registry: no route')
        : fail('ImageRefused', 'another architecture');

    await expect(start()).rejects.toMatchObject({ name: 'ImageRefused' });

    expect(clockMs - begin).toBeGreaterThanOrEqual(awayMs + 300_000);
  });

  it('gives up after a day also when failures take turns', async () => {
    trouble = () =>
      pauses.length % 2 === 0
        ? fail('PullFailed', 'registry: no route')
        : fail('ImageRefused', 'another architecture');

    await expect(start({ leap: 4 * 3_600_000 })).rejects.toMatchObject({ name: 'PullFailed' });

    expect(pauses).toHaveLength(6);
  });

  it('is complete also when the power was cut before its record said so', async () => {
    await start();
    await host.boot();
    await start();
    const since = new Date(clockMs).toISOString();
    const cut = { state: 'waiting', since, attempts: 1, reboots: 1, reason: 'no route' } as const;
    await writeFirstBoot((await host.ports()).files, cut);

    expect((await machineStatus(settings())).problems).toEqual([]);
    expect(await start()).toEqual({ kind: 'none' });

    expect(await record()).toEqual({ state: 'complete', since, attempts: 1, reboots: 1 });
  });

  it('has failed only as long as there is one to complete', async () => {
    trouble = () => fail('ImageRefused', 'another architecture');
    await expect(start()).rejects.toMatchObject({ name: 'ImageRefused' });

    rmSync(join(host.root, FIRST_BOOT_PLACES.ENCAPSULATED));

    const report = await machineStatus(settings());
    expect(report.problems.join()).not.toContain('first boot');
    expect(report).not.toHaveProperty('firstBoot');
  });

  it('needs no record where there was no first boot', async () => {
    rmSync(join(host.root, FIRST_BOOT_PLACES.ENCAPSULATED));

    expect(await start()).toEqual({ kind: 'none' });

    expect(await record()).toBeUndefined();
  });

  it('does not reboot for ever', async () => {
    const boots = async (): Promise<void> => {
      for (let boot = 0; boot < 10; boot += 1) {
        await start();
        // A power cut drops the staged deployment.
        await (await host.ports()).os.discard();
        await host.boot();
      }
    };

    await expect(boots()).rejects.toMatchObject({ name: 'WrongDeployment' });

    // Three, and after each a restart of what had started on files that were undone.
    expect(reboots).toHaveLength(6);
    expect(await record()).toMatchObject({ state: 'failed', reboots: 3 });
  });

  it('ends with the process', async () => {
    trouble = () => fail('PullFailed', 'registry: no route');
    const stop = new Error('stopped');

    await expect(start({ pause: () => Promise.reject(stop) })).rejects.toBe(stop);
  });
});
