// Requirements of tests on this machine: root for end-to-end hosts, and a few Debian packages, which
// are installed when missing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Debian package → a file of it. */
const PACKAGES = {
  debootstrap: '/usr/sbin/debootstrap',
  'systemd-container': '/usr/bin/systemd-nspawn',
  ostree: '/usr/bin/ostree',
  skopeo: '/usr/bin/skopeo',
  attr: '/usr/bin/setfattr',
  e2fsprogs: '/usr/bin/chattr',
  iproute2: '/bin/ip',
  'util-linux': '/usr/bin/nsenter',
  // To build slipway-ostree.
  'libostree-dev': '/usr/include/ostree-1/ostree.h',
  'libzstd-dev': '/usr/include/zstd.h',
  'libssl-dev': '/usr/include/openssl/ssl.h',
  'zlib1g-dev': '/usr/include/zlib.h',
  'pkg-config': '/usr/bin/pkg-config',
  gcc: '/usr/bin/gcc',
  // To build Ignition's engine; it runs useradd and similar programs.
  'libblkid-dev': '/usr/include/blkid/blkid.h',
  passwd: '/usr/sbin/useradd',
  // For the images of Slipway.
  buildah: '/usr/bin/buildah',
  // For the emulated machine with a boot loader.
  'qemu-system-x86': '/usr/bin/qemu-system-x86_64',
  'grub-pc-bin': '/usr/lib/grub/i386-pc/boot.img',
  // For hosts with changed clocks.
  faketime: '/usr/bin/faketime',
  // For hosts with slow disks.
  strace: '/usr/bin/strace',
};

/** Node has no API for extended attributes. */
const UNIT_PACKAGES = ['attr'];

/** @throws Error with one sentence that names what is missing */
export function requireHostPackages() {
  if (process.platform !== 'linux') {
    throw new Error(`end-to-end hosts need Linux; this is ${process.platform}`);
  }
  if (process.getuid() !== 0) {
    throw new Error(
      'end-to-end hosts need root: they boot in containers with their own networks and disks; ' +
        'run `sudo npm test -- hosts`, or the other tests alone: `npm test -- unit replay workflow integration e2e`',
    );
  }
  install('end-to-end hosts', Object.keys(PACKAGES));
}

/** @throws Error with one sentence that names what is missing */
export function requireUnitPackages() {
  install('unit tests', UNIT_PACKAGES);
}

function install(who, names) {
  const missing = names.filter((name) => !existsSync(PACKAGES[name]));
  if (missing.length === 0) return;
  const list = missing.join(', ');
  if (!existsSync('/usr/bin/apt-get') || process.getuid?.() !== 0) {
    throw new Error(`${who} need these Debian packages, and only root can install them: ${list}`);
  }
  process.stderr.write(`slipway: installing ${list} …\n`);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Another run may hold the lock, and the mirror may be unreachable for a moment.
  const patiently = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=5'];
  const packages = ['install', '--yes', '--no-install-recommends', ...missing];
  for (const args of [['update', '--quiet'], packages]) {
    const run = spawnSync('apt-get', [...patiently, ...args], {
      env: environment,
      stdio: ['ignore', 'ignore', 2],
    });
    if (run.status !== 0) {
      throw new Error(
        `${who} need these Debian packages, and apt-get did not install them: ${list}`,
      );
    }
  }
}
