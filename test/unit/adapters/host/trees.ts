/** Everything below a directory that a test can read. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Path → kind, mode, owner, content and extended attributes. Paths that start with `without` are left out. */
export function treeOf(
  root: string,
  without = 'var/lib/slipway',
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.startsWith(without)) continue;
    const path = join(root, name);
    const stats = lstatSync(path);
    const content = stats.isSymbolicLink()
      ? readlinkSync(path)
      : stats.isFile()
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : '';
    const kind = stats.isSymbolicLink() ? 'link' : stats.isFile() ? 'file' : 'other';
    found[name] = [kind, stats.mode.toString(8), stats.uid, stats.gid, content].join(' ');
  }
  for (const [name, text] of attributesBelow(root)) {
    if (name.startsWith(without)) continue;
    found[name] += ` ${text}`;
  }
  return found;
}

/** One process for all paths; reads the attributes of links themselves. */
function attributesBelow(root: string): readonly (readonly [string, string])[] {
  const words = ['-R', '-P', '-h', '-d', '-m', '-', '-e', 'base64', '.'];
  const dump = execFileSync('getfattr', words, { cwd: root, encoding: 'utf8' });
  return dump
    .split('\n\n')
    .filter((block) => block.startsWith('# file: '))
    .map((block) => {
      const [head = '', ...lines] = block.trim().split('\n');
      return [head.slice('# file: '.length), lines.sort().join(' ')] as const;
    });
}
