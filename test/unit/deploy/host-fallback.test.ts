/**
 * The shell program that rolls back a machine on which no host worker starts, with a directory in place of the
 * machine, and programs that record their calls.
 */

import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../../tools/repository-root';

const run = promisify(execFile);

const PROGRAM = join(repositoryRoot(), 'deploy/host/slipway-host-fallback');
const PREVIOUS = `${'a'.repeat(64)}.0`;
const NEW = `${'b'.repeat(64)}.0`;

let root: string;
const inRoot = (path: string) => join(root, path);
const calls = () =>
  existsSync(inRoot('calls')) ? readFileSync(inRoot('calls'), 'utf8').trim().split('\n') : [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-test-'));
  mkdirSync(inRoot('bin'));
  mkdirSync(inRoot('state'));
  writeFileSync(inRoot('state/unconfirmed'), `30\n${PREVIOUS}\n`);
  booted(NEW);
  // It counts attempts, not time.
  aProgram('sleep', '');
  aProgram('systemctl', '');
});
afterEach(() => rmSync(root, { recursive: true }));

function booted(deployment: string): void {
  const line = `25 1 8:3 /ostree/deploy/os/deploy/${deployment} / rw,relatime - ext4 /dev/sda3 rw\n`;
  writeFileSync(inRoot('mountinfo'), line);
}

function aProgram(name: string, body: string): void {
  const path = inRoot(`bin/${name}`);
  writeFileSync(path, `#!/bin/sh\necho ${name} "$@" >>'${inRoot('calls')}'\n${body}\n`);
  chmodSync(path, 0o755);
}

async function fallBack(): Promise<{ status: number; stderr: string }> {
  const text = readFileSync(PROGRAM, 'utf8')
    .replaceAll('/var/lib/slipway', inRoot('state'))
    .replaceAll('/proc/self/mountinfo', inRoot('mountinfo'))
    .replaceAll('/usr/', inRoot('usr/'));
  writeFileSync(inRoot('program'), text);
  // The shell's own tools, and no others of the system.
  const path = `${inRoot('bin')}:${inRoot('tools')}`;
  mkdirSync(inRoot('tools'), { recursive: true });
  for (const tool of ['grep', 'rm', 'mv', 'sync']) {
    const where = ['/usr/bin', '/bin'].map((at) => join(at, tool)).find((at) => existsSync(at));
    writeFileSync(inRoot(`tools/${tool}`), `#!/bin/sh\nexec ${where} "$@"\n`);
    chmodSync(inRoot(`tools/${tool}`), 0o755);
  }
  try {
    const { stderr } = await run('/bin/sh', [inRoot('program')], { env: { PATH: path } });
    return { status: 0, stderr };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { status: code, stderr };
  }
}

it('rolls back by name once nobody has come up in time, and only once', async () => {
  aProgram('slipway-ostree', '');
  aProgram('rpm-ostree', '');

  const { status, stderr } = await fallBack();

  expect(status).toBe(0);
  expect(stderr).toContain(`no host worker has come up within 90 s`);
  const [reboot, chosen] = [calls().at(-1), calls().at(-2)];
  expect(chosen).toBe(`slipway-ostree rollback ${PREVIOUS}`);
  expect(reboot).toContain('systemctl reboot');
  expect(calls().filter((call) => call === 'sleep 5')).toHaveLength(18);
  expect(existsSync(inRoot('state/unconfirmed'))).toBe(false);
  expect(readFileSync(inRoot('state/unstarted'), 'utf8')).toBe(`30\n${PREVIOUS}\n`);
});

it.each([
  ['slipway-ostree does not start', ['exit 127', '', ''], 'rpm-ostree rollback'],
  ['rpm-ostree does not either', ['exit 127', 'exit 1', ''], 'bootc rollback'],
])('takes another program where %s', async (_, [ostree = '', rpmOstree = '', bootc = ''], last) => {
  aProgram('slipway-ostree', ostree);
  aProgram('rpm-ostree', rpmOstree);
  aProgram('bootc', bootc);

  expect((await fallBack()).status).toBe(0);

  expect(calls().at(-2)).toBe(last);
  expect(calls().at(-1)).toContain('systemctl reboot');
});

it('does not reboot when nothing can choose the deployment, and tries again later', async () => {
  aProgram('slipway-ostree', 'exit 1');

  const { status, stderr } = await fallBack();

  expect(status).toBe(1);
  expect(stderr).toContain(`deployment ${PREVIOUS} cannot be chosen; boot it by hand`);
  expect(calls().join('\n')).not.toContain('systemctl');
  expect(existsSync(inRoot('state/unconfirmed'))).toBe(true);
});

it('ends as soon as a worker has come up', async () => {
  aProgram('slipway-ostree', '');
  aProgram('sleep', `rm '${inRoot('state/unconfirmed')}'`);

  expect((await fallBack()).status).toBe(0);

  expect(calls()).toEqual(['sleep 5']);
});

it('does nothing on the deployment that it would roll back to', async () => {
  aProgram('rpm-ostree', '');
  booted(PREVIOUS);

  expect((await fallBack()).status).toBe(0);

  expect(calls()).toEqual([]);
  expect(existsSync(inRoot('state/unconfirmed'))).toBe(false);
});

it.each([
  ['soon\nabc.0\n', '"soon" is no number of seconds'],
  [`30\n../x y\n`, '"../x y" is no deployment'],
])('refuses a file that nobody wrote like this: %j', async (text, reason) => {
  aProgram('rpm-ostree', '');
  writeFileSync(inRoot('state/unconfirmed'), text);

  const { status, stderr } = await fallBack();

  expect(status).toBe(1);
  expect(stderr).toContain(reason);
  expect(calls()).toEqual([]);
});
