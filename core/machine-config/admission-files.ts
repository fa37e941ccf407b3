/** Files and units that no host could apply, or that would not survive there. */

import { FIRST_BOOT_FILE } from '../first-boot/files';
import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { isOwnService } from '../names';
import { reportContents, type ContentPorts } from './admission-contents';
import type { Report } from './admission-problem';

/** Places where nothing of a config has any business, and why. A slash at the end: all below, too. */
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
  [FIRST_BOOT_FILE.ENCAPSULATED_CONFIG, 'with this file a host begins its first boot'],
  [
    `${FIRST_BOOT_FILE.ENCAPSULATED_CONFIG}.bak`,
    'hosts keep here what their first boot began with',
  ],
  [FIRST_BOOT_FILE.SERVED_CONFIG, 'every new host gets here what it was served'],
  ['/var/lib/slipway/', 'Slipway keeps its own state here'],
  ['/etc/slipway/', 'Slipway keeps its own settings here'],
  ['/boot/', 'the operating system owns this directory'],
  ['/sysroot/', 'the operating system owns this directory'],
  ['/ostree/', 'the operating system owns this directory'],
];

/** Inside a refused place, and yet for configs: MCO names a key here that takes effect without reboot. */
const ALLOWED_PLACES: readonly string[] = ['/etc/machine-config-daemon/no-reboot/'];

/** No host has a file here, and none replaces a directory by a file. */
const DIRECTORIES: readonly string[] = [
  '/etc',
  '/etc/kubernetes',
  '/etc/systemd',
  '/etc/systemd/system',
  '/usr',
  '/var',
  '/var/lib',
];

/**
 * Files that every new host may get from the server, beside those in refused places. A file of the config
 * there is fine: it counts, or gets other contents.
 */
const ADDED_FILES: readonly string[] = [
  FIRST_BOOT_FILE.KUBECONFIG,
  FIRST_BOOT_FILE.KUBELET_AUTHORITY,
  FIRST_BOOT_FILE.CLOUD_AUTHORITY,
  FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
  FIRST_BOOT_FILE.SERVED_CONFIG,
];

/** Problems of the places of files, directories and links, each on its own. */
export function reportPlaces(config: IgnitionObject, report: Report): void {
  const storage = structOf(config['storage']);
  for (const [kind, what] of [
    ['files', 'file'],
    ['directories', 'directory'],
    ['links', 'link'],
  ] as const) {
    listOf(storage[kind]).forEach((node, i) => {
      reportPlace(wordOf(node['path']), what, `spec.config.storage.${kind}[${i}].path`, report);
    });
  }
}

/** Problems of each file on its own. */
export function reportFiles(config: IgnitionObject, ports: ContentPorts, report: Report): void {
  listOf(structOf(config['storage'])['files']).forEach((file, i) => {
    const field = `spec.config.storage.files[${i}]`;
    reportMode(file['mode'] as number | undefined, `${field}.mode`, report);
    listOf(file['append']).forEach((piece, a) => {
      const part = `${field}.append[${a}]`;
      if (structOf(piece)['source'] === undefined) {
        report(
          `${part}.source`,
          'there is nothing to append',
          'add source, or leave the entry out',
        );
      }
      reportContents(structOf(piece), part, ports, report);
    });
    reportContents(structOf(file['contents']), `${field}.contents`, ports, report);
  });
}

function reportPlace(
  path: string,
  what: 'file' | 'directory' | 'link',
  field: string,
  report: Report,
): void {
  if (!isPlain(path)) {
    const fix = 'remove doubled slashes, trailing slashes, "." and ".." from it';
    report(field, 'the path is not absolute and normalised', fix);
    return;
  }
  if (ALLOWED_PLACES.some((prefix) => `${path}/`.startsWith(prefix))) return;
  const why =
    REFUSED_PLACES.find(([place]) =>
      place.endsWith('/') ? `${path}/`.startsWith(place) : path === place,
    )?.[1] ??
    (what !== 'directory' && DIRECTORIES.includes(path)
      ? 'it is a directory on every host'
      : undefined) ??
    whyNotBeside(path, what);
  if (why === undefined) return;
  report(field, `no ${what} may be at ${path}: ${why}`, 'choose another path');
}

/** Ignition takes no file at or below a link, at a directory, or below a file: such a pool serves nobody. */
function whyNotBeside(path: string, what: 'file' | 'directory' | 'link'): string | undefined {
  for (const added of ADDED_FILES) {
    if (path === added && what !== 'file') {
      // The server gives none to a config that brings its own, in whatever form.
      const isOwn = what === 'link' && added === FIRST_BOOT_FILE.KUBECONFIG;
      if (!isOwn) return 'new hosts get a file here';
    }
    if (path.startsWith(`${added}/`)) return `new hosts get a file at ${added}`;
    if (added.startsWith(`${path}/`) && what !== 'directory') {
      return `new hosts get the file ${added} below it`;
    }
  }
  return undefined;
}

/** As hosts ask; Ignition lets the root and zero bytes pass. */
function isPlain(path: string): boolean {
  const [root, ...parts] = path.split('/');
  if (root !== '' || path.includes('\0')) return false;
  return parts.length > 0 && parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

function reportMode(mode: number | undefined, field: string, report: Report): void {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  report(
    field,
    `mode 0${mode.toString(8)} has more than permission bits`,
    'use at most 511 (0777 in octal); setuid, setgid and sticky are not applied',
  );
}

/** Units that say nothing, drop-ins without contents, and names that lead elsewhere. */
export function reportUnits(config: IgnitionObject, report: Report): void {
  listOf(structOf(config['systemd'])['units']).forEach((unit, i) => {
    const field = `spec.config.systemd.units[${i}]`;
    const dropins = listOf(unit['dropins']);
    reportUnitName(unit, field, report);
    reportOwnUnit(unit, field, report);
    const says = ['contents', 'enabled', 'mask'].some((key) => unit[key] !== undefined);
    if (!says && dropins.length === 0) {
      report(field, 'the unit has no effect', 'add contents, dropins, enabled or mask');
    }
    dropins.forEach((dropin, d) => {
      reportUnitName(dropin, `${field}.dropins[${d}]`, report);
      if (dropin['contents'] !== undefined && dropin['contents'] !== '') return;
      report(`${field}.dropins[${d}]`, 'the drop-in has no contents', 'add contents');
    });
  });
}

function reportOwnUnit(unit: IgnitionObject, field: string, report: Report): void {
  if (!isOwnService(wordOf(unit['name']))) return;
  const problem =
    'without it no update could reach the machine again, and none would be taken back';
  if (unit['mask'] === true) report(`${field}.mask`, problem, 'do not mask it');
  if (unit['enabled'] === false) report(`${field}.enabled`, problem, 'leave it enabled');
}

function reportUnitName(named: IgnitionObject, field: string, report: Report): void {
  if (!wordOf(named['name']).includes('/')) return;
  const problem = 'a unit or drop-in name must be a plain file name';
  report(`${field}.name`, problem, 'remove the slashes and what stands before them');
}
