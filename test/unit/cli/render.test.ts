import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { render, type RenderOptions } from '../../../cli/commands/render';
import { EXIT } from '../../../cli/exit-codes';
import type { CliContext } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import type { MachineConfigPool } from '../../../core/pool/types';
import { createBootstrapSource } from '../../../server/ignition/bootstrap-source';

const SAMPLES = join(__dirname, '..', '..', '..', 'deploy', 'samples');
let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'slipway-render-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function run(options: Partial<RenderOptions>) {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err') => ({
    write: (text: string): void => {
      written[name] += text;
    },
  });
  const streams = { out: sink('out'), err: sink('err') };
  const context = { terminal: openTerminal(streams, { color: false, env: {} }) };
  const code = await render(context as CliContext, {
    manifestDir: [SAMPLES],
    check: false,
    partial: false,
    strict: false,
    output: 'text',
    ...options,
  });
  return { code, ...written };
}

async function withManifest(name: string, text: string): Promise<string> {
  const copy = join(directory, 'manifests');
  await cp(SAMPLES, copy, { recursive: true });
  await mkdir(join(copy, 'more'));
  await writeFile(join(copy, 'more', name), text);
  return copy;
}

const BAD = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-bad
  labels: {machineconfiguration.openshift.io/role: worker}
spec:
  kernelType: fast
`;

describe('render --dest-dir', () => {
  it('writes what a server without a cluster serves', async () => {
    const destDir = join(directory, 'out');
    const { code, out, err } = await run({ destDir });

    expect([code, err]).toEqual([EXIT.OK, '']);
    const [, name = ''] = /^pool master: (rendered-master-[0-9a-f]{32}) \(1 M/m.exec(out) ?? [];
    const pool = parse(
      await readFile(join(destDir, 'machine-pools/master.yaml'), 'utf8'),
    ) as MachineConfigPool;
    expect(pool.spec.configuration?.name).toBe(name);
    expect(pool.status?.configuration).toEqual(pool.spec.configuration);
    const source = createBootstrapSource({
      directory: destDir,
      facts: () => ({}),
    });
    expect(await source.look('master')).toMatchObject({ served: { pool: 'master', name } });
  });

  it('writes nothing when something is wrong, and says what on standard error', async () => {
    const manifests = await withManifest('bad.yaml', BAD);
    const destDir = join(directory, 'out');
    const { code, out, err } = await run({ manifestDir: [manifests], destDir });

    expect([code, out]).toEqual([EXIT.FAILED, '']);
    expect(err).toContain(`${manifests}/more/bad.yaml:7: MachineConfig 99-bad: spec.kernelType: `);
    await expect(readFile(join(destDir, 'machine-pools/worker.yaml'))).rejects.toThrow('ENOENT');
  });

  it('refuses a directory that holds something else', async () => {
    const destDir = join(directory, 'out');
    await mkdir(destDir);
    await writeFile(join(destDir, 'precious'), '');
    await expect(run({ destDir })).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringContaining('precious') as string,
    });
  });
});

describe('render --check', () => {
  it('says which configs the pools would get', async () => {
    const { code, out } = await run({ check: true });
    expect(code).toBe(EXIT.OK);
    expect(out.split('\n').map((line) => line.split(':')[0])).toEqual([
      'pool infra',
      'pool master',
      'pool worker',
      '',
    ]);
  });

  it('fails with file and line', async () => {
    const manifests = await withManifest('bad.yaml', BAD);
    const { code, out } = await run({ manifestDir: [manifests], check: true });
    expect(code).toBe(EXIT.FAILED);
    expect(out).toBe(
      `${manifests}/more/bad.yaml:7: MachineConfig 99-bad: spec.kernelType: "fast" is no kernel type; use one of default, realtime, 64k-pages\n`,
    );
  });

  it('goes on for what has no effect, and counts it; --strict does not', async () => {
    const text = BAD.replace('fast', 'realtime').replace('role: worker', 'role: wroker');
    const manifestDir = [await withManifest('role.yaml', text)];
    const check = await run({ manifestDir, check: true });
    expect(check.code).toBe(EXIT.OK);
    expect(check.out).toContain('role.yaml:5: warning: MachineConfig 99-bad: ');
    expect(check.out).toContain('pool worker: rendered-worker-');
    expect(check.err).toBe('1 warning\n');

    const strict = await run({ manifestDir, check: true, strict: true });
    expect(strict.code).toBe(EXIT.FAILED);
    expect(strict.out).toContain('role.yaml:5: MachineConfig 99-bad: ');
    expect(strict.err).toBe('1 error; nothing was rendered\n');

    const rendered = await run({ manifestDir, destDir: join(directory, 'out') });
    expect(rendered.code).toBe(EXIT.OK);
    expect(rendered.err).toContain('role.yaml:5: warning: ');

    const json = await run({ manifestDir, check: true, output: 'json' });
    expect(JSON.parse(json.out)).toMatchObject({
      ...{ ok: true, errors: 0, warnings: 1, notes: 0 },
      problems: [{ severity: 'warning' }],
    });
    const strictly = await run({ manifestDir, check: true, output: 'json', strict: true });
    expect(strictly.code).toBe(EXIT.FAILED);
    expect(JSON.parse(strictly.out)).toMatchObject({ ok: false, errors: 1, warnings: 0 });
  });

  it('of a part does not complain about missing objects, and prints no names', async () => {
    const pool = await readFile(join(SAMPLES, 'pool-worker.yaml'), 'utf8');
    await writeFile(join(directory, 'pool.yaml'), pool);
    const manifestDir = [directory];
    const check = await run({ manifestDir, check: true });
    expect([check.code, check.err]).toEqual([EXIT.OK, '1 warning\n']);
    expect((await run({ manifestDir, check: true, strict: true })).code).toBe(EXIT.FAILED);
    expect(await run({ manifestDir, check: true, strict: true, partial: true })).toEqual({
      ...{ code: EXIT.OK, out: '', err: '' },
    });
    const destDir = join(directory, 'out');
    expect((await run({ manifestDir, destDir })).code).toBe(EXIT.FAILED);
  });

  it('with -o json is one object', async () => {
    const manifests = await withManifest('bad.yaml', BAD);
    const { code, out } = await run({ manifestDir: [manifests], check: true, output: 'json' });
    expect(code).toBe(EXIT.FAILED);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      pools: [],
      problems: [{ severity: 'error', line: 7, column: 3, field: 'spec.kernelType' }],
    });
  });

  it('against an earlier render refuses what running machines cannot change', async () => {
    const earlier = join(directory, 'earlier');
    await run({ destDir: earlier });
    const text = BAD.replace('kernelType: fast', 'fips: true');
    const manifests = await withManifest('fips.yaml', text);
    expect((await run({ manifestDir: [manifests], check: true })).code).toBe(EXIT.OK);
    const { code, out } = await run({ manifestDir: [manifests], check: true, against: earlier });
    expect(code).toBe(EXIT.FAILED);
    expect(out).toContain('fips.yaml:1: MachineConfig 99-bad: ');
    expect(out).toContain('FIPS');
  });
});

it.each<[string, Partial<RenderOptions>, RegExp]>([
  ['neither --dest-dir nor --check', {}, /either --dest-dir/],
  ['both', { check: true, destDir: '/x' }, /either --dest-dir/],
  ['no such directory', { check: true, manifestDir: ['/does/not/exist'] }, /ENOENT/],
  ['--partial to render', { partial: true, destDir: '/x' }, /--partial goes with --check/],
  [
    '--partial against a whole',
    { partial: true, check: true, against: SAMPLES },
    /--partial goes with --check/,
  ],
  ['--against something else', { check: true, against: SAMPLES }, /no result of slipway render/],
])('%s is a wrong use', async (_what, options, message) => {
  await expect(run(options)).rejects.toMatchObject({
    exitCode: EXIT.USAGE,
    message: expect.stringMatching(message) as string,
  });
});

it.each(['nothing', 'other files', 'an empty file'])(
  'is no green check when it has read %s',
  async (what) => {
    if (what === 'other files') await writeFile(join(directory, 'README.md'), 'text');
    if (what === 'an empty file') await writeFile(join(directory, 'a.yaml'), '# nothing\n');

    await expect(run({ manifestDir: [directory], check: true })).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: `no manifests found in ${directory} (*.yaml, *.yml, *.json)`,
    });
  },
);
