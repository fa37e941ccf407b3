/**
 * A directory with real files, a simulated operating system, and the links of systemd. The rest is
 * production code.
 */

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SIMULATED_OS } from '../../core/names';
import { NO_ATTRIBUTES } from '../host/attributes';
import { createHostFiles, type HostFiles } from '../host/files';
import {
  createOfflineSystemd,
  type HostSystemd,
  type ServiceAction,
} from '../host/offline-systemd';
import { type Ownership, REAL_OWNERSHIP } from '../host/ownership';
import { ROOT_OWNER } from '../host/path-state';
import { createSimulatedOs, type SimulatedOs } from './os-driver';
import { createPace, type FailurePlan, type Pace, type SimulatedDurations } from './pace';
import { createRecordedOwnership } from './recorded-ownership';

interface SimulatedMachineOptions {
  readonly node: string;
  /** The machine's `/`; made when it is missing. */
  readonly root: string;
  readonly durations: SimulatedDurations;
  readonly failures: FailurePlan;
  readonly onServiceAction?: (action: ServiceAction) => void;
  /** True: as a real machine. */
  readonly sync?: boolean;
}

export interface SimulatedMachine {
  readonly node: string;
  readonly root: string;
  readonly files: HostFiles;
  readonly systemd: HostSystemd;
  readonly os: SimulatedOs;
  readonly pace: Pace;
  /** Failures must not hit a first boot. */
  enableFailures(): void;
}

const CORE_OWNER = { uid: 1000, gid: 1000 } as const;

/** As on CoreOS. */
const PRESETS = '/usr/lib/systemd/system-preset/99-default.preset';

const FACTORY_FILES = [
  {
    path: '/etc/passwd',
    mode: 0o644,
    text: 'root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1000:CoreOS Admin:/home/core:/bin/bash\n',
  },
  { path: '/etc/group', mode: 0o644, text: 'root:x:0:\ncore:x:1000:\n' },
  { path: '/etc/shadow', mode: 0o600, text: 'root:!locked::0:99999:7:::\ncore:*::0:99999:7:::\n' },
  {
    path: '/etc/os-release',
    mode: 0o644,
    text: `ID=slipway-simulated\nPRETTY_NAME="${SIMULATED_OS}"\n`,
  },
  // A real sshd would read `authorized_keys.d`.
  { path: PRESETS, mode: 0o644, text: 'disable *\n' },
  { path: '/usr/lib/os-release', mode: 0o644, text: 'PLATFORM_ID="platform:el9"\n' },
] as const;

export async function createSimulatedMachine(
  options: SimulatedMachineOptions,
): Promise<SimulatedMachine> {
  await mkdir(options.root, { recursive: true, mode: 0o755 });
  const ownership = simulatedOwnership(options.root);
  const plain = createHostFiles({
    root: options.root,
    ownership,
    sync: options.sync ?? false,
    attributes: NO_ATTRIBUTES,
  });
  await furnish(plain);
  const pace = createPace(options.node, options.durations);
  let failing = false;
  const files = withDiskFaults(
    plain,
    () => failing && options.failures.strikes(options.node, 'apply'),
  );
  return {
    node: options.node,
    root: options.root,
    files,
    systemd: createOfflineSystemd(files, options.onServiceAction),
    os: await createSimulatedOs({ files: plain, pace }),
    pace,
    enableFailures: () => {
      failing = true;
    },
  };
}

/** Real if the process may set them; else recorded. */
export function simulatedOwnership(root: string): Ownership {
  return process.getuid?.() === 0
    ? REAL_OWNERSHIP
    : createRecordedOwnership(join(root, '.slipway-owners.json'));
}

async function furnish(files: HostFiles): Promise<void> {
  for (const path of ['/etc', '/home', '/usr', '/usr/lib', '/usr/lib/systemd', dirname(PRESETS)]) {
    await files.makeDirectory(path, { mode: 0o755, owner: ROOT_OWNER });
  }
  await files.makeDirectory('/home/core', { mode: 0o700, owner: CORE_OWNER });
  for (const { path, mode, text } of FACTORY_FILES) {
    if ((await files.look(path)).kind !== 'absent') continue;
    await files.writeFile(path, { content: Buffer.from(text), mode, owner: ROOT_OWNER });
  }
}

/** Writing a configured file fails in the middle of an update. */
function withDiskFaults(files: HostFiles, strikes: () => boolean): HostFiles {
  const isOurs = (path: string) =>
    path.startsWith('/var/lib/slipway/') || path.startsWith('/etc/machine-config-daemon/');
  const refuse = (path: string): void => {
    if (isOurs(path) || !strikes()) return;
    const message = `${path}: simulated input/output error`;
    throw Object.assign(new Error(message), { code: 'EIO', path });
  };
  return {
    ...files,
    async writeFile(path, file) {
      refuse(path);
      await files.writeFile(path, file);
    },
    async change(changes, step) {
      for (const [index, { path, state }] of changes.entries()) {
        if (state.kind !== 'file') continue;
        try {
          refuse(path);
        } catch (error) {
          await files.change(changes.slice(0, index), step);
          throw error;
        }
      }
      await files.change(changes, step);
    },
  };
}
