/** Runs an update once and keeps the disk of every moment in which it could die. */

import type { Attributes } from '../../../../adapters/host';
import type { TestConfig } from '../../../unit/host/a-host';
import { Conductor, CrashMachine, type Interference, type Step } from './crash-machine';
import { FIRST, OLD } from './configs';
import {
  type NameApart,
  namesApart,
  type Operation,
  type Picture,
  type Survival,
  survivorsOf,
} from './model-disk';

export interface Moment {
  /** The disk just before the operation. */
  readonly picture: Picture;
  readonly operation: Operation;
  /** The running order; in a rollback, that order. */
  readonly step: Step | 'goBack';
  /** The workflow's knowledge at this moment. */
  readonly rebootedFrom: string | undefined;
}

/** How it died, and what remains on the disk. */
export const DEATHS = ['killed', 'all', 'synced', 'names', 'bytes'] as const;
export type Death = (typeof DEATHS)[number] | NameApart;

/** Every death that leaves another disk at this moment. */
export function deathsIn({ picture }: Moment): readonly Death[] {
  return [...DEATHS, ...namesApart(picture)];
}

export interface Scenario {
  readonly name: string;
  readonly config: TestConfig;
  readonly reboots: boolean;
}

export async function recorded(
  machine: CrashMachine,
  work: () => Promise<unknown>,
  details: () => Pick<Moment, 'step' | 'rebootedFrom'>,
): Promise<readonly Moment[]> {
  const moments: Moment[] = [];
  machine.disk.onOperation = (operation) => {
    moments.push({ picture: machine.disk.picture(), operation, ...details() });
  };
  try {
    await work();
  } finally {
    machine.disk.onOperation = () => undefined;
  }
  return moments;
}

/** The machine as it is found after its death. */
export async function machineAfter(
  picture: Picture,
  death: Death,
  interference: Interference = {},
): Promise<CrashMachine> {
  const survival: Survival = death === 'killed' ? 'all' : death;
  if (death === 'killed') return new CrashMachine(picture, interference);
  const machine = new CrashMachine(survivorsOf(picture, survival), interference);
  await machine.bootAfterPowerCut();
  return machine;
}

export async function machineOnOld(): Promise<CrashMachine> {
  const machine = new CrashMachine();
  await furnish(machine);
  for (const config of [FIRST, OLD]) {
    const conductor = new Conductor(config, { reboots: true });
    const said = await conductor.finish(machine, 'prepareUpdate');
    if (said !== 'finished') throw new Error(said);
  }
  machine.label('/home/core/.ssh', LABEL);
  machine.disk.syncAll();
  return machine;
}

const ROOT = { uid: 0, gid: 0 };
const CORE = { uid: 1000, gid: 1000 };
/** A file whose group differs from its owner's, so that a mix-up is found. */
const GROUP_OF_CORE = { uid: 0, gid: 1000 };
/** A config that replaces the file's bytes drops this attribute with them. */
const CAPABILITY = { 'security.capability': 'AQAAAgAgAAAAAAAAAAAAAAAAAAA=' };
const LABEL = { 'security.selinux': 'ZXRjX3Q=' };

/** Files of the operating system, on which the configs build. */
async function furnish(machine: CrashMachine): Promise<void> {
  const { files } = await machine.ports();
  const directories = [
    '/etc /home /usr /usr/lib /usr/lib/systemd /usr/lib/systemd/system /usr/lib/systemd/system-preset',
    '/var /var/lib /var/lib/slipway /var/opt /etc/systemd /etc/systemd/system',
  ];
  for (const path of directories.join(' ').split(' ')) {
    const mode = path === '/var/lib/slipway' ? 0o700 : 0o755;
    await files.makeDirectory(path, { mode, owner: ROOT });
  }
  await files.makeDirectory('/home/core', { mode: 0o700, owner: CORE });
  const texts: readonly (readonly [string, string, number, typeof ROOT?, Attributes?])[] = [
    ['/etc/passwd', 'root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/sh\n', 0o644],
    ['/etc/group', 'root:x:0:\ncore:x:1000:\n', 0o644],
    ['/etc/shadow', 'root:!::0:99999:7:::\ncore:*::0:99999:7:::\n', 0o600],
    ['/etc/os-release', 'ID=model\n', 0o644],
    ['/usr/lib/os-release', 'PLATFORM_ID="platform:el9"\n', 0o644],
    [
      '/usr/lib/systemd/system-preset/90-vendor.preset',
      'enable vendor.service\ndisable *\n',
      0o644,
    ],
    [
      '/usr/lib/systemd/system/vendor.service',
      '[Service]\nExecStart=/bin/v\n[Install]\nWantedBy=multi-user.target\n',
      0o644,
    ],
    ['/etc/grows', 'original\n', 0o640],
    ['/etc/was-there', 'the distribution\n', 0o644],
    ['/etc/sudoers', 'root\n', 0o440, GROUP_OF_CORE, LABEL],
    ['/etc/attributes-alone', 'as the image has it', 0o644, ROOT, { ...LABEL, ...CAPABILITY }],
  ];
  for (const [path, text, mode, owner = ROOT, label] of texts) {
    const content = Buffer.from(text);
    const attributes = { exactly: label ?? {} };
    await files.change([{ path, state: { kind: 'file', content, mode, owner, attributes } }]);
  }
  const link = { kind: 'symlink', target: '/nowhere', attributes: { exactly: LABEL } } as const;
  await files.change([{ path: '/etc/was-a-link', state: link }]);
  await files.writeLink('/opt', 'var/opt');
}
