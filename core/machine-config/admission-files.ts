/** Files and units that no host could apply, or that would not survive there. */

import { decodeDataUrl } from '../encoding/data-url';
import { messageOf } from '../errors';
import { listOf, structOf, wordOf, type IgnitionObject, type RenderPorts } from '../ignition';
import type { Report } from './admission-problem';

/** Places where a file of a config has no business, and why. */
const REFUSED_PLACES: readonly (readonly [string, string])[] = [
  ['/run/machine-config-daemon-force', 'this file makes a host skip its own checks'],
  ['/proc/', 'the kernel owns this directory'],
  ['/sys/', 'the kernel owns this directory'],
  ['/dev/', 'the kernel owns this directory'],
  ['/run/', 'this directory is empty after a reboot'],
  ['/var/run/', 'this directory is empty after a reboot'],
  ['/tmp/', 'this directory is emptied'],
  ['/var/tmp/', 'this directory is emptied'],
  ['/etc/machine-config-daemon/', 'hosts record here what they are on'],
  ['/var/lib/slipway/', 'Slipway keeps its own state here'],
  ['/etc/slipway/', 'Slipway keeps its own settings here'],
  ['/boot/', 'the operating system owns this directory'],
  ['/sysroot/', 'the operating system owns this directory'],
  ['/ostree/', 'the operating system owns this directory'],
];

/** Inside a refused place, and yet for configs: MCO names a key here that takes effect without reboot. */
const ALLOWED_PLACES: readonly string[] = ['/etc/machine-config-daemon/no-reboot/'];

/** Problems of each file on its own. */
export function reportFiles(
  config: IgnitionObject,
  ports: Pick<RenderPorts, 'gunzip'>,
  report: Report,
): void {
  listOf(structOf(config['storage'])['files']).forEach((file, i) => {
    const field = `spec.config.storage.files[${i}]`;
    reportPlace(wordOf(file['path']), `${field}.path`, report);
    reportMode(file['mode'] as number | undefined, `${field}.mode`, report);
    if (listOf(file['append']).length > 0) {
      const fix = 'write the whole contents into contents.source';
      report(`${field}.append`, 'appending cannot be repeated safely on a running host', fix);
    }
    reportContents(structOf(file['contents']), `${field}.contents`, ports, report);
  });
}

function reportPlace(path: string, field: string, report: Report): void {
  if (ALLOWED_PLACES.some((prefix) => path.startsWith(prefix))) return;
  const place = REFUSED_PLACES.find(([prefix]) =>
    prefix.endsWith('/') ? path.startsWith(prefix) : path === prefix,
  );
  if (place !== undefined)
    report(field, `no file may be at ${path}: ${place[1]}`, 'choose another path');
}

function reportMode(mode: number | undefined, field: string, report: Report): void {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  report(
    field,
    `mode 0${mode.toString(8)} has more than permission bits`,
    'use at most 511 (0777 in octal); setuid, setgid and sticky are not applied',
  );
}

function reportContents(
  contents: IgnitionObject,
  field: string,
  ports: Pick<RenderPorts, 'gunzip'>,
  report: Report,
): void {
  const source = contents['source'];
  if (typeof source !== 'string' || source === '') return;
  const fix = 'write the contents as a data URL: data:;base64,<contents>';
  if (!source.startsWith('data:')) {
    report(`${field}.source`, 'hosts do not fetch remote contents', fix);
    return;
  }
  const decoded = decodeDataUrl(source);
  if (decoded.error !== undefined) report(`${field}.source`, decoded.error, fix);
  else if (contents['compression'] === 'gzip') {
    try {
      ports.gunzip(decoded.bytes);
    } catch (error) {
      report(
        `${field}.source`,
        `the contents are no gzip stream (${messageOf(error)})`,
        'compress them with gzip, or leave compression out',
      );
    }
  }
}

/** Units that say nothing, and drop-ins without contents. */
export function reportUnits(config: IgnitionObject, report: Report): void {
  listOf(structOf(config['systemd'])['units']).forEach((unit, i) => {
    const field = `spec.config.systemd.units[${i}]`;
    const dropins = listOf(unit['dropins']);
    const says = ['contents', 'enabled', 'mask'].some((key) => unit[key] !== undefined);
    if (!says && dropins.length === 0) {
      report(field, 'the unit has no effect', 'add contents, dropins, enabled or mask');
    }
    dropins.forEach((dropin, d) => {
      if (dropin['contents'] !== undefined && dropin['contents'] !== '') return;
      report(`${field}.dropins[${d}]`, 'the drop-in has no contents', 'add contents');
    });
  });
}
