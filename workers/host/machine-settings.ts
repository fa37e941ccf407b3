/** Settings of one real machine: its name, its operating system, and time limits. */

import { hostname } from 'node:os';
import { KUBELET_HEALTH_URL, type KubeletSettings } from '../../core/machine/kubelet';
import { isUnitName } from '../../core/systemd';
import { DRIVER_SETTINGS, type DriverSetting } from './os-driver';
import type { HostProcessSettings } from './setting-types';
import type { SettingsReader } from './settings-reader';

/** The machine itself, whether or not it serves orders: enough for settling. */
export interface MachineSettings {
  readonly node: string;
  readonly root: string;
  readonly driver: DriverSetting;
  /** Absent: the kernel's command line is not compared. */
  readonly commandLineFile?: string;
  /** Settings that replace a search. */
  readonly kubelet: KubeletSettings;
  /** Absent: the kubelet is not asked. */
  readonly kubeletHealthUrl?: string;
  readonly kubeletHealthSeconds: number;
  /** How long programs that block a shutdown are honoured. */
  readonly inhibitorSeconds: number;
  /** How long the machine may take to go down after the request. */
  readonly shutdownSeconds: number;
}

export interface SingleHostSettings extends HostProcessSettings, MachineSettings {
  readonly kind: 'single';
  /** A machine without Temporal for this long after a reboot into an update rolls back. */
  readonly reconnectSeconds: number;
  /**
   * The first connection waits up to this long, so that the machines of a rack do not connect
   * together.
   */
  readonly startJitterSeconds: number;
}

/** Turns a check off. */
const NONE = 'none';

export function readMachine(reader: SettingsReader): MachineSettings {
  const commandLineFile = unlessNone(reader.text('commandLineFile') ?? '/proc/cmdline');
  const kubeletHealthUrl = readHealthUrl(reader);
  return {
    node: reader.text('node') ?? hostname().toLowerCase(),
    root: reader.text('root') ?? '/',
    driver: reader.oneOf('driver', DRIVER_SETTINGS, 'auto'),
    ...(commandLineFile === undefined ? {} : { commandLineFile }),
    kubelet: readKubelet(reader),
    ...(kubeletHealthUrl === undefined ? {} : { kubeletHealthUrl }),
    kubeletHealthSeconds: reader.seconds('kubeletHealthSeconds', 300),
    inhibitorSeconds: reader.seconds('inhibitorSeconds', 300),
    shutdownSeconds: reader.seconds('shutdownSeconds', 900, 1),
  };
}

export function readSingle(
  reader: SettingsReader,
  common: HostProcessSettings,
): SingleHostSettings {
  const machine = readMachine(reader);
  // If it is searched for, it may be missing until the machine has joined.
  reader.readable('authorityFile');
  return {
    ...common,
    ...machine,
    kind: 'single',
    reconnectSeconds: reader.seconds('reconnectSeconds', 600, 1),
    startJitterSeconds: reader.seconds('startJitterSeconds', 5),
  };
}

function readKubelet(reader: SettingsReader): KubeletSettings {
  const kubeletUnit = readUnit(reader);
  const certificateFile = reader.text('certificateFile');
  const keyFile = reader.text('keyFile');
  const authorityFile = reader.text('authorityFile');
  if (keyFile !== undefined && certificateFile === undefined) {
    reader.problems.push('certificateFile: a certificate and its key belong together');
  }
  return {
    ...(kubeletUnit === undefined ? {} : { kubeletUnit }),
    ...(certificateFile === undefined ? {} : { certificateFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(authorityFile === undefined ? {} : { authorityFile }),
  };
}

function readUnit(reader: SettingsReader): string | undefined {
  const unit = reader.text('kubeletUnit');
  if (unit === undefined || (isUnitName(unit) && unit.endsWith('.service'))) return unit;
  reader.problems.push(
    `kubeletUnit: expected a service such as kubelet.service, not ${JSON.stringify(unit)}`,
  );
  return undefined;
}

function readHealthUrl(reader: SettingsReader): string | undefined {
  const url = unlessNone(reader.text('kubeletHealthUrl') ?? KUBELET_HEALTH_URL);
  if (url === undefined || (url.startsWith('http://') && URL.canParse(url))) return url;
  reader.problems.push(
    `kubeletHealthUrl: expected an http URL or ${NONE}, not ${JSON.stringify(url)}`,
  );
  return undefined;
}

function unlessNone(value: string): string | undefined {
  return value === NONE ? undefined : value;
}
