import { hostname } from 'node:os';
import { ORDER_KEYS_FILE } from '../../adapters/host';
import { KUBELET_HEALTH_URL, type KubeletSettings } from '../../core/machine/kubelet';
import { isUnitName } from '../../core/systemd';
import { DRIVER_SETTINGS, type DriverSetting } from './os-driver';
import type { HostProcessSettings } from './setting-types';
import type { SettingsReader } from '../../process/host/settings-reader';

export interface MachineSettings {
  readonly node: string;
  readonly root: string;
  readonly driver: DriverSetting;
  /** Absent: the kernel's command line is not compared. */
  readonly commandLineFile?: string;
  readonly kubelet: KubeletSettings;
  /** JSON: public keys of the cluster, by which this machine knows its orders. */
  readonly orderKeysFile: string;
  /** Absent: the kubelet is not asked. */
  readonly kubeletHealthUrl?: string;
  readonly kubeletHealthSeconds: number;
  /** How long programs that block a shutdown are honoured. */
  readonly inhibitorSeconds: number;
  /** For going down after the request. */
  readonly shutdownSeconds: number;
}

export interface SingleHostSettings extends HostProcessSettings, MachineSettings {
  readonly kind: 'single';
  /** Spreads the first connections of the machines of a rack. */
  readonly startJitterSeconds: number;
}

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
    orderKeysFile: readOrderKeysFile(reader),
    ...(kubeletHealthUrl === undefined ? {} : { kubeletHealthUrl }),
    kubeletHealthSeconds: reader.seconds('kubeletHealthSeconds', 300),
    inhibitorSeconds: reader.seconds('inhibitorSeconds', 300),
    shutdownSeconds: reader.seconds('shutdownSeconds', 900, 1),
  };
}

export function readOrderKeysFile(reader: SettingsReader): string {
  return reader.text('orderKeysFile') ?? ORDER_KEYS_FILE;
}

export function readSingle(
  reader: SettingsReader,
  common: HostProcessSettings,
): SingleHostSettings {
  const machine = readMachine(reader);
  // A searched file may be missing until the machine has joined.
  reader.readable('authorityFile');
  return {
    ...common,
    ...machine,
    kind: 'single',
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
