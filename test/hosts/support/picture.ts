/**
 * The state of a machine, taken with the programs of its distribution: equal pictures are equal
 * machines.
 */

import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../machine/machine';

export interface Picture {
  /** Type, mode, owner, link target, digest, extended attributes. */
  readonly etc: readonly string[];
  /** Files for logins and local programs. */
  readonly state: readonly string[];
  /** The next to boot first. */
  readonly deployments: readonly string[];
  readonly commandLine: string;
  /** `unit state preset`, and failed units. */
  readonly units: readonly string[];
}

/** Each boot makes them anew. */
const VOLATILE = /^etc\/(\.updated|resolv\.conf|mtab|ld\.so\.cache|\.pwd\.lock)\b/;

export async function pictureOf(machine: Machine): Promise<Picture> {
  const lines = async (script: string): Promise<readonly string[]> =>
    (await machine.output('sh', '-c', `cd / && ${script}`))
      .split('\n')
      .filter((line) => line !== '');
  const tree = (folder: string): Promise<readonly string[]> =>
    lines(
      `if [ -e ${folder} ]; then find ${folder} -xdev -printf '%p %y %m %U:%G %l\\n'; ` +
        `find ${folder} -xdev -type f -exec sha256sum {} + | sed 's/^\\([0-9a-f]*\\)  \\(.*\\)/\\2 \\1/'; ` +
        `getfattr -R -P -h -d -m - ${folder} 2>/dev/null | ` +
        `awk '/^# file: /{f=$3} /=/{print f" "$0}'; fi | sort`,
    );
  const [commandLine = ''] = await lines('cat /proc/cmdline');
  return {
    etc: (await tree('etc')).filter((line) => !VOLATILE.test(line)),
    state: [...(await tree('var/home')), ...(await tree('var/usrlocal'))],
    deployments: await deploymentsOf(machine),
    commandLine: withoutDeployment(commandLine),
    units: [
      ...(await lines('systemctl list-unit-files --no-legend --no-pager --full')),
      ...(await lines('systemctl list-units --failed --no-legend --no-pager --full')),
    ].filter((line) => !/^(run-|proc-|dev-|sys-)/.test(line)),
  };
}

/** Without the ostree path, whose numbers change with every new entry. */
async function deploymentsOf(machine: Machine): Promise<readonly string[]> {
  const entries = await machine.entries();
  return Promise.all(
    entries.map(async ({ deployment, options }) => {
      const path = await realpath(deployment);
      const origin = await readFile(`${path}.origin`, 'utf8');
      const image = /^container-image-reference=(.*)$/m.exec(origin)?.[1] ?? origin;
      const version = await readFile(join(path, 'usr/lib/os-version'), 'utf8');
      return `${version.trim()} ${image} ${withoutDeployment(options)}`;
    }),
  );
}

function withoutDeployment(options: string): string {
  return options
    .split(' ')
    .filter((argument) => !argument.startsWith('ostree='))
    .join(' ');
}

/** A folder here, valid during this boot. */
export function rootOf(machine: Machine): string {
  const pid = machine.launcher.firstProcess();
  if (pid === undefined) throw new Error(`${machine.name} is off`);
  return `/proc/${pid}/root`;
}
