/** The root of a machine before its first boot: accounts, units, presets of a distribution. */

import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../../../tools/binaries/run-program';

/** Distributions differ in where their sshd looks for keys. */
export type Distribution = 'coreos' | 'debian';

const OS_RELEASE: Readonly<Record<Distribution, string>> = {
  coreos: 'ID="rhcos"\nPLATFORM_ID="platform:el9"\n',
  debian: 'ID=debian\nVERSION_ID="12"\n',
};

const unit = (name: string): string =>
  `[Unit]\nDescription=${name}\n\n[Service]\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n`;

/** Path → text, mode; files that exist before the config. */
const FILES: Readonly<Record<string, readonly [text: string, mode: number]>> = {
  'etc/passwd': [
    'root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1000:CoreOS Admin:/home/core:/bin/bash\ndaemon:x:2:2::/:/bin/false\n',
    0o644,
  ],
  'etc/group': ['root:x:0:\ndaemon:x:2:\nwheel:x:10:core\ncore:x:1000:\n', 0o644],
  'etc/shadow': ['root:!:19000:0:99999:7:::\ncore:*:19000:0:99999:7:::\ndaemon:*:19000::::::\n', 0],
  'etc/gshadow': ['root:*::\ndaemon:*::\nwheel:!::core\ncore:!::\n', 0],
  'etc/login.defs': ['CREATE_HOME yes\nUMASK 077\n', 0o644],
  'etc/motd': ['of the distribution\n', 0o644],
  'etc/issue': ['of the distribution\n', 0o600],
  'etc/hosts': ['127.0.0.1 localhost\n', 0o644],
  'etc/modules': ['loop\n', 0o640],
  'usr/lib/systemd/system/shipped.service': [unit('enabled as shipped'), 0o644],
  'usr/lib/systemd/system/dormant.service': [unit('not enabled as shipped'), 0o644],
  'usr/lib/systemd/system/chatty.service': [unit('enabled as shipped, too'), 0o644],
  'usr/lib/systemd/system-preset/90-distribution.preset': [
    'enable shipped.service\nenable chatty.service\ndisable *\n',
    0o644,
  ],
};

/** Makes a tree with presets applied, as image builds do. */
export async function makeMachineTree(root: string, distribution: Distribution): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('the root of a machine can only be made as root');
  const files = {
    ...FILES,
    'usr/lib/os-release': [OS_RELEASE[distribution], 0o644],
  } as const;
  for (const [path, [text, mode]] of Object.entries(files)) {
    const real = join(root, path);
    await mkdir(dirname(real), { recursive: true });
    await writeFile(real, text);
    await chmod(real, mode);
  }
  for (const path of ['root', 'home/core', 'tmp', 'run', 'var/lib']) {
    await mkdir(join(root, path), { recursive: true });
  }
  await chmod(join(root, 'home/core'), 0o700);
  await chown(join(root, 'home/core'), 1000, 1000);
  await applyPresets(root);
}

/** Does what systemd does on the first boot of a machine. */
export async function applyPresets(root: string): Promise<void> {
  const args = [`--root=${root}`, 'preset-all', '--preset-mode=enable-only'];
  await run('systemctl', args, process.env);
}

/** Path → all its properties in one line. Hard links are named by their first path. */
export async function describeTree(root: string): Promise<ReadonlyMap<string, string>> {
  const lines = new Map<string, string>();
  const inodes = new Map<number, string>();
  const walk = async (directory: string): Promise<void> => {
    const names = (await readdir(join(root, directory))).sort();
    for (const name of names) {
      const path = join('/', directory, name);
      const stats = await lstat(join(root, path));
      const owner = `${stats.uid}:${stats.gid}`;
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isSymbolicLink()) {
        lines.set(path, `link ${owner} -> ${await readlink(join(root, path))}`);
      } else if (stats.isDirectory()) {
        lines.set(path, `directory ${mode} ${owner}`);
        await walk(path);
      } else {
        const first = inodes.get(stats.ino);
        inodes.set(stats.ino, first ?? path);
        const same = first === undefined ? '' : ` same file as ${first}`;
        const content = (await readFile(join(root, path))).toString('latin1');
        lines.set(path, `file ${mode} ${owner}${same} ${JSON.stringify(content)}`);
      }
    }
  };
  await walk('/');
  return lines;
}
