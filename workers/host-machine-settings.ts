/** Settings of one real machine: its name, its operating system, and how long it waits for what. */

import { hostname } from 'node:os';
import { DRIVER_SETTINGS, type DriverSetting } from './host-os';
import type { HostProcessSettings, NodeCredentials } from './host-setting-types';
import type { SettingsReader } from './host-settings-reader';

/** What a machine is, whether or not it serves orders: also what settling it needs. */
export interface MachineSettings {
  readonly node: string;
  /** Directory that is the machine's `/`. */
  readonly root: string;
  readonly driver: DriverSetting;
  /** Absent = the kernel's command line is not compared. */
  readonly commandLineFile?: string;
  /** Absent = the kubelet is not asked. */
  readonly kubeletHealthUrl?: string;
  /** How long the kubelet may take to become healthy. */
  readonly kubeletHealthSeconds: number;
  /** How long programs that block a shutdown are honoured. */
  readonly inhibitorSeconds: number;
  /** How long the machine may take to go down once it is told to reboot. */
  readonly shutdownSeconds: number;
}

/** One real machine. */
export interface SingleHostSettings extends HostProcessSettings, MachineSettings {
  readonly kind: 'single';
  /** Without Temporal for this long after a reboot into an update, the machine goes back by itself. */
  readonly reconnectSeconds: number;
  /** The first connection waits up to this long, so that a rack does not come at once. */
  readonly startJitterSeconds: number;
  readonly credentials: NodeCredentials;
}

const KUBELET_CERTIFICATE = '/var/lib/kubelet/pki/kubelet-client-current.pem';
/** Says that something is not to be looked at. */
const NONE = 'none';

export function readMachine(reader: SettingsReader): MachineSettings {
  const commandLineFile = unlessNone(reader.text('commandLineFile') ?? '/proc/cmdline');
  const kubeletHealthUrl = readHealthUrl(reader);
  return {
    node: reader.text('node') ?? hostname().toLowerCase(),
    root: reader.text('root') ?? '/',
    driver: reader.oneOf('driver', DRIVER_SETTINGS, 'auto'),
    ...(commandLineFile === undefined ? {} : { commandLineFile }),
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
  return {
    ...common,
    ...readMachine(reader),
    kind: 'single',
    reconnectSeconds: reader.seconds('reconnectSeconds', 600, 1),
    startJitterSeconds: reader.seconds('startJitterSeconds', 5),
    credentials: {
      certificateFile: reader.text('certificateFile') ?? KUBELET_CERTIFICATE,
      keyFile: reader.text('keyFile') ?? KUBELET_CERTIFICATE,
      authorityFile: reader.file('authorityFile', '/etc/kubernetes/ca.crt'),
    },
  };
}

function readHealthUrl(reader: SettingsReader): string | undefined {
  const url = unlessNone(reader.text('kubeletHealthUrl') ?? 'http://127.0.0.1:10248/healthz');
  if (url === undefined || (url.startsWith('http://') && URL.canParse(url))) return url;
  reader.problems.push(
    `kubeletHealthUrl: expected an http URL or ${NONE}, not ${JSON.stringify(url)}`,
  );
  return undefined;
}

function unlessNone(value: string): string | undefined {
  return value === NONE ? undefined : value;
}
