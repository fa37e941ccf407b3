/** Forbidden paths and owners of files, directories and links. */

import { FIRST_BOOT_FILE } from '../first-boot/files';
import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { reportPathLength } from './admission-lengths';
import { reportOwner } from './admission-owners';
import type { Report } from './admission-problem';
import { ORIGINAL_PLACES } from './original-paths';

/**
 * Records of MCO's and Slipway's hosts, and their copies of original files. Other files beside them
 * are allowed, as every stock cluster has some.
 *
 * @see MCO pkg/daemon/daemon.go, pkg/daemon/constants/constants.go (7ff337a4)
 */
const RECORDS: readonly string[] = [
  '/etc/machine-config-daemon/currentconfig',
  '/etc/machine-config-daemon/currentimage',
  '/etc/machine-config-daemon/bootstrapconfigdiff',
  FIRST_BOOT_FILE.NODE_ANNOTATIONS,
  '/etc/machine-config-daemon/node-annotation.json.bak',
  ...ORIGINAL_PLACES,
];

/** Forbidden places, with the reason. A slash at the end: everything below, too. */
const REFUSED_PLACES: readonly (readonly [string, string])[] = [
  ['/run/machine-config-daemon-force', 'this file makes a host skip its own checks'],
  ['/proc/', 'the kernel owns this directory'],
  ['/sys/', 'the kernel owns this directory'],
  ['/dev/', 'the kernel owns this directory'],
  ['/run/', 'this directory is empty after a reboot'],
  ['/var/run/', 'this directory is empty after a reboot'],
  ['/tmp/', 'this directory is emptied'],
  ['/var/tmp/', 'this directory is emptied'],
  ...RECORDS.map((path): [string, string] => [`${path}/`, 'hosts record their config here']),
  [FIRST_BOOT_FILE.ENCAPSULATED_CONFIG, 'with this file a host begins its first boot'],
  [`${FIRST_BOOT_FILE.ENCAPSULATED_CONFIG}.bak`, 'hosts keep the config of their first boot here'],
  [FIRST_BOOT_FILE.SERVED_CONFIG, 'hosts keep a copy of their served config here'],
  ['/var/lib/slipway/', 'Slipway keeps its own state here'],
  ['/etc/slipway/', 'Slipway keeps its own settings here'],
  ['/boot/', 'the operating system owns this directory'],
  ['/sysroot/', 'the operating system owns this directory'],
  ['/ostree/', 'the operating system owns this directory'],
];

/** Directories on every host, which no file can replace. */
const DIRECTORIES: readonly string[] = [
  '/bin',
  '/etc',
  '/etc/NetworkManager',
  '/etc/NetworkManager/conf.d',
  '/etc/NetworkManager/dispatcher.d',
  '/etc/NetworkManager/system-connections',
  '/etc/containers',
  '/etc/kubernetes',
  '/etc/machine-config-daemon',
  '/etc/modprobe.d',
  '/etc/modules-load.d',
  '/etc/pam.d',
  '/etc/pki',
  '/etc/pki/ca-trust',
  '/etc/pki/ca-trust/source',
  '/etc/pki/ca-trust/source/anchors',
  '/etc/profile.d',
  '/etc/security',
  '/etc/selinux',
  '/etc/ssh',
  '/etc/ssh/sshd_config.d',
  '/etc/sudoers.d',
  '/etc/sysconfig',
  '/etc/sysctl.d',
  '/etc/systemd',
  '/etc/systemd/system',
  '/etc/tmpfiles.d',
  '/etc/udev',
  '/etc/udev/rules.d',
  '/home/core',
  '/home/core/.ssh',
  '/lib',
  '/lib64',
  '/sbin',
  '/usr',
  '/usr/bin',
  '/usr/lib',
  '/usr/lib/systemd',
  '/usr/lib/systemd/system',
  '/usr/sbin',
  '/usr/share',
  '/var',
  '/var/home/core',
  '/var/home/core/.ssh',
  '/var/lib',
  '/var/lib/systemd',
];

/**
 * Directories that may be links on some hosts, or are created after the files of the first boot.
 */
const MOVABLE_DIRECTORIES: readonly string[] = [
  '/home',
  '/media',
  '/mnt',
  '/opt',
  '/root',
  '/srv',
  '/usr/local',
  '/var/cache',
  '/var/home',
  '/var/lib/containers',
  '/var/lib/kubelet',
  '/var/log',
  '/var/mnt',
  '/var/opt',
  '/var/roothome',
  '/var/spool',
  '/var/srv',
  '/var/usrlocal',
];

/**
 * Files that a new host may get from the server, beside those in forbidden places. A file of the
 * config there is allowed: it wins, or gets other contents.
 */
const ADDED_FILES: readonly string[] = [
  FIRST_BOOT_FILE.KUBECONFIG,
  FIRST_BOOT_FILE.KUBELET_AUTHORITY,
  FIRST_BOOT_FILE.CLOUD_AUTHORITY,
  FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
  FIRST_BOOT_FILE.SERVED_CONFIG,
];

/** Problems of the places and owners of files, directories and links, each on its own. */
export function reportPlaces(config: IgnitionObject, report: Report): void {
  const storage = structOf(config['storage']);
  for (const [kind, what] of [
    ['files', 'file'],
    ['directories', 'directory'],
    ['links', 'link'],
  ] as const) {
    listOf(storage[kind]).forEach((node, i) => {
      const field = `spec.config.storage.${kind}[${i}]`;
      reportPlace(wordOf(node['path']), what, `${field}.path`, report);
      // A hard link has the owner of its target.
      if (node['hard'] !== true) reportOwner(node, field, report);
      else reportHardLink(wordOf(node['target']), `${field}.target`, report);
    });
  }
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
  // Hosts record originals for files only.
  reportPathLength(path, what === 'file', field, report);
  const why =
    REFUSED_PLACES.find(([place]) =>
      place.endsWith('/') ? `${path}/`.startsWith(place) : path === place,
    )?.[1] ??
    (isDirectory(path, what) ? 'it is a directory on every host' : undefined) ??
    whyNotBeside(path, what);
  if (why === undefined) return;
  report(field, `no ${what} may be at ${path}: ${why}`, 'choose another path');
}

function isDirectory(path: string, what: 'file' | 'directory' | 'link'): boolean {
  if (what === 'directory') return false;
  return DIRECTORIES.includes(path) || (what === 'file' && MOVABLE_DIRECTORIES.includes(path));
}

/**
 * Ignition resolves a relative target from the root, wherever the link is, and finds nothing there.
 */
function reportHardLink(target: string, field: string, report: Report): void {
  if (target === '' || target.startsWith('/')) return;
  const problem = 'the target of a hard link must be absolute';
  report(field, problem, 'write the whole path of the target, beginning with a slash');
}

/**
 * Ignition refuses a file at or below a link, at a directory, or below a file: such a pool could
 * serve no machine.
 */
function whyNotBeside(path: string, what: 'file' | 'directory' | 'link'): string | undefined {
  for (const added of ADDED_FILES) {
    if (path === added && what !== 'file') {
      // The server adds no kubeconfig to a config that brings its own, in whatever form.
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

/** The rule of hosts; Ignition accepts the root and zero bytes. */
function isPlain(path: string): boolean {
  const [root, ...parts] = path.split('/');
  if (root !== '' || path.includes('\0')) return false;
  return parts.length > 0 && parts.every((part) => part !== '' && part !== '.' && part !== '..');
}
