import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cachePath, resolveBinary } from '../../../../tools/binaries/resolve';
import { appearance, gone } from '../await-process';
import { startScript } from '../script-process';
import { createWorkspace, fakeGo, type Workspace } from './workspace';

jest.setTimeout(60_000);

describe('where a program comes from', () => {
  let machine: Workspace;

  beforeEach(() => {
    machine = createWorkspace();
  });

  afterEach(() => {
    machine.remove();
  });

  /** Puts the program into every place; tests remove the preferred ones. */
  function putEverywhere(): { own: string; onPath: string; cached: string } {
    const own = machine.script(join(machine.directory, 'my-etcd'), 'echo own');
    const onPath = machine.script(join(machine.bin, 'etcd'), 'echo "etcd Version: 3.6.16"');
    const cached = cachePath('etcd', machine.context().settings);
    mkdirSync(dirname(cached), { recursive: true });
    machine.script(cached, 'echo cached');
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4'));
    return { own, onPath, cached };
  }

  it('is the environment variable before all else', async () => {
    const { own } = putEverywhere();

    expect(await resolveBinary('etcd', machine.context({ SLIPWAY_ETCD: own }))).toBe(own);
  });

  it('is an error when the variable names something that cannot run', async () => {
    putEverywhere();

    const attempt = resolveBinary('etcd', machine.context({ SLIPWAY_ETCD: '/nowhere/etcd' }));

    await expect(attempt).rejects.toThrow('SLIPWAY_ETCD names /nowhere/etcd');
  });

  it('is PATH when the version there fits', async () => {
    const { onPath } = putEverywhere();

    expect(await resolveBinary('etcd', machine.context())).toBe(onPath);
    expect(machine.reported).toEqual([]);
  });

  it('asks a program on PATH for its version in the words that it knows', async () => {
    const kubectl = join(machine.bin, 'kubectl');
    machine.script(kubectl, '[ "$*" = "version --client" ] && echo "Client Version: v1.36.4"');

    expect(await resolveBinary('kubectl', machine.context())).toBe(kubectl);
  });

  it('is the cache when the version on PATH does not fit, which is said', async () => {
    const { onPath, cached } = putEverywhere();
    machine.script(onPath, 'echo "etcd Version: 3.5.21"');

    expect(await resolveBinary('etcd', machine.context())).toBe(cached);
    expect(machine.reported).toEqual([`${onPath} is 3.5.21, not 3.6.16; ignored`]);
  });

  it('is a build when nothing else is there and the download fails, which is said', async () => {
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4'));

    const built = await resolveBinary('etcd', machine.context());

    expect(execFileSync(built, { encoding: 'utf8' })).toBe('built\n');
    expect(built).toBe(cachePath('etcd', machine.context().settings));
    expect(machine.reported).toEqual([
      'downloading etcd 3.6.16 …',
      expect.stringMatching(/^no download of etcd: .*ECONNREFUSED.*; building it instead$/),
      'building etcd 3.6.16 (about 0.5 min on two idle cores) …',
      expect.stringMatching(/^built etcd in \d+ s$/),
    ]);
    expect(readdirSync(dirname(built))).toEqual(['etcd']);
  });

  it('needs no network when downloads are switched off', async () => {
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4'));

    await resolveBinary('etcd', machine.context({ SLIPWAY_DOWNLOAD: 'never' }));

    expect(machine.reported[0]).toMatch(/^building etcd/);
  });

  it('says which Go is needed when there is none', async () => {
    const attempt = resolveBinary('etcd', machine.context());

    await expect(attempt).rejects.toThrow(/needs Go 1\.26\.0 or newer on PATH.*SLIPWAY_ETCD/);
  });

  it('says which Go is needed when it is too old', async () => {
    const go = machine.script(join(machine.bin, 'go'), fakeGo('go1.25.9'));

    const attempt = resolveBinary('temporal', machine.context());

    await expect(attempt).rejects.toThrow(`needs Go 1.26.4 or newer; ${go} is go1.25.9`);
  });

  it('leaves nothing that looks finished when the build fails', async () => {
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4', 'echo half > "$2"; exit 1'));

    const attempt = resolveBinary('etcd', machine.context());

    await expect(attempt).rejects.toThrow('ended with exit status 1');
    expect(readdirSync(dirname(cachePath('etcd', machine.context().settings)))).toEqual([]);
  });

  it('says what a C compiler needs when a build that wants one fails', async () => {
    const cgo = 'echo "cgo $CGO_ENABLED" >&2; exit 1';
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4', cgo));

    const attempt = resolveBinary('ignition', machine.context());

    await expect(attempt).rejects.toThrow(
      /needs a C compiler and the headers of libblkid.*cgo 1; or name/s,
    );
  });

  it('lets the compiler keep its garbage, unless the environment says how much', async () => {
    const memory = 'echo "memory $GOGC $GOMEMLIMIT" >&2; exit 1';
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4', memory));

    await expect(resolveBinary('etcd', machine.context())).rejects.toThrow('memory off 1500MiB');
    const little = machine.context({ GOGC: '50' });
    await expect(resolveBinary('etcd', little)).rejects.toThrow('memory 50 1500MiB');
  });

  it('builds once when two ask at the same time', async () => {
    const count = join(machine.directory, 'builds');
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4', `echo build >> ${count}`));

    const both = [1, 2].map(() => resolveBinary('etcd', machine.context()));

    expect(new Set(await Promise.all(both)).size).toBe(1);
    expect(execFileSync('cat', [count], { encoding: 'utf8' })).toBe('build\n');
    expect(machine.reported.some((line) => line.startsWith('waiting for process'))).toBe(true);
  });

  it('leaves nothing that looks finished when it is killed in the middle of a build', async () => {
    const started = join(machine.directory, 'compiler.pid');
    const hang = `echo half > "$2"; echo $$ > ${started}.new; mv ${started}.new ${started}; exec sleep 600`;
    machine.script(join(machine.bin, 'mv'), 'exec /bin/mv "$@"');
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4', hang));
    const builder = startScript(join(__dirname, 'build-etcd.ts'), [machine.bin, machine.cache]);
    await builder.line(`building etcd`);
    const compiler = await appearance(started);
    builder.goOn();
    await builder.line('adopted');

    await builder.kill();
    await gone(compiler);

    const finished = cachePath('etcd', machine.context().settings);
    expect(existsSync(finished)).toBe(false);
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4'));
    expect(await resolveBinary('etcd', machine.context())).toBe(finished);
    expect(readdirSync(dirname(finished))).toEqual(['etcd']);
  });
});
