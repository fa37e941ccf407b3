/**
 * The ostree driver with its real program, a real registry and real ostree sysroots. These are not booted, so the
 * program deploys at once instead of staging; test/hosts covers staging, its lock and the reboot.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type RunCommand } from '../../../adapters/host/os/command';
import type { OsDriver } from '../../../adapters/host/os/driver';
import { createOstreeDriver } from '../../../adapters/host/os/ostree';
import type { PullProgress, StepContext } from '../../../adapters/host/os/os-status';
import { ensureRustProgram } from '../../../tools/binaries';
import {
  createImageBuilder,
  noise,
  startGate,
  startRegistry,
  type ImageBuilder,
  type Registry,
  type RegistryGate,
} from '../../../tools/registry';
import { createTinySysroot, type TinySysroot } from './tiny-sysroot';

// The program may have to be built.
jest.setTimeout(30 * 60_000);

const LAYER_BYTES = 200_000;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'arm64', arm64: 'amd64' };

let program: string;
let registry: Registry;
let gate: RegistryGate;
let work: string;
let environment: Readonly<Record<string, string>>;
let builder: ImageBuilder;
let v1: string;
let v2: string;

let sysroot: TinySysroot;
let driver: OsDriver;

beforeAll(async () => {
  program = await ensureRustProgram('slipway-ostree');
  const ostreeExt = await ensureRustProgram('ostree-ext-cli');
  registry = await startRegistry();
  gate = await startGate(registry.address);
  work = await mkdtemp(join(tmpdir(), 'slipway-images-'));
  environment = await allowPlainHttp(join(work, 'home'), [registry.address, gate.address]);
  const repository = `${registry.address}/os`;
  builder = await createImageBuilder({ ostreeExt, directory: join(work, 'build'), repository });
  v1 = await push('v1', { a: 'a1', b: 'b1', c: 'c1' });
  v2 = await push('v2', { a: 'a1', b: 'b1', c: 'c2' });
});

afterAll(async () => {
  await gate.close();
  await registry.stop();
  await rm(work, { recursive: true });
});

beforeEach(async () => {
  sysroot = await createTinySysroot();
  driver = createOstreeDriver({
    program,
    run: withEnvironment,
    root: join(work, 'home'),
    sysroot: sysroot.path,
    architecture: process.arch,
  });
  gate.decide(() => 'pass');
});

afterEach(async () => {
  await sysroot.remove();
});

/** The machine's registry configuration stays unchanged: skopeo reads that of its home first. */
async function allowPlainHttp(
  home: string,
  addresses: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const directory = join(home, '.config/containers');
  await mkdir(directory, { recursive: true });
  const entries = addresses.map(
    (address) => `[[registry]]\nlocation = "${address}"\ninsecure = true\n`,
  );
  await writeFile(join(directory, 'registries.conf'), entries.join('\n'));
  return { HOME: home, INVOCATION_ID: '', XDG_CONFIG_HOME: '' };
}

const withEnvironment: RunCommand = (name, args, options) =>
  runCommand(name, args, { ...options, environment });

function push(
  name: string,
  seeds: Readonly<Record<string, string>>,
  architecture?: string,
): Promise<string> {
  const layers = Object.fromEntries(
    Object.entries(seeds).map(([id, seed]) => [
      id,
      { [`usr/share/${id}`]: noise(seed, LAYER_BYTES) },
    ]),
  );
  const other = architecture === undefined ? {} : { architecture };
  return builder.push({ name, version: name, layers, ...other });
}

interface Listed {
  readonly id: string;
  readonly image: string;
  readonly digest: string;
  readonly kernelArguments: readonly string[];
}

async function ask<T>(...words: readonly string[]): Promise<T> {
  const end = await withEnvironment(program, ['--sysroot', sysroot.path, ...words]);
  expect(end).toMatchObject({ status: 0 });
  return JSON.parse(end.lines.at(-1) ?? '') as T;
}

async function deployments(): Promise<readonly Listed[]> {
  return (await ask<{ deployments: readonly Listed[] }>('status')).deployments;
}

interface Facts {
  readonly layers: readonly {
    readonly digest: string;
    readonly bytes: number;
    readonly present: boolean;
  }[];
}

const facts = (image: string) => ask<Facts>('inspect', image);

function context(): StepContext & { readonly pulls: readonly PullProgress[] } {
  const pulls: PullProgress[] = [];
  return {
    pulls,
    signal: new AbortController().signal,
    progress: (_text, pull) => {
      if (pull !== undefined) pulls.push(pull);
    },
  };
}

const digestOf = (image: string): string => image.replace(/^.*@/, '');
const throughGate = (image: string): string => image.replace(registry.address, gate.address);

describe('an image that is there', () => {
  it('is checked without pulling a layer', async () => {
    const { layers } = await facts(v1);
    const sizes = new Set(layers.map(({ digest }) => digest));
    const { blobs } = await registry.during(() => driver.checkImage(v1, context()));
    expect(layers.every(({ present }) => !present)).toBe(true);
    expect(blobs.filter(({ digest }) => sizes.has(digest))).toEqual([]);
  });

  it('is pulled and deployed, with its digest, and progress to the last byte', async () => {
    const { layers } = await facts(v1);
    const total = layers.reduce((sum, { bytes }) => sum + bytes, 0);
    const step = context();
    const { blobs } = await registry.during(() => driver.stage(v1, step));
    expect(blobs.map(({ digest }) => digest)).toEqual(
      expect.arrayContaining(layers.map(({ digest }) => digest)),
    );
    expect(step.pulls[0]).toEqual({
      bytes: 0,
      totalBytes: total,
      layers: 0,
      totalLayers: layers.length,
    });
    expect(step.pulls.at(-1)).toEqual({
      bytes: total,
      totalBytes: total,
      layers: layers.length,
      totalLayers: layers.length,
    });
    const [only, ...others] = await deployments();
    expect(only).toMatchObject({ image: v1, digest: digestOf(v1) });
    expect(others).toEqual([]);
  });

  it('is not deployed again, and nothing is asked of the registry', async () => {
    await driver.stage(v1, context());
    const before = await deployments();
    await registry.kill();
    try {
      await driver.stage(v1, context());
    } finally {
      await registry.restart();
    }
    expect(await deployments()).toEqual(before);
  });

  it('brings only the layers that the host does not have', async () => {
    await driver.stage(v1, context());
    const missing = (await facts(v2)).layers.filter(({ present }) => !present);
    const { blobs, bytes } = await registry.during(() => driver.stage(v2, context()));
    const layers = blobs.filter(({ digest }) => missing.some((layer) => layer.digest === digest));
    expect(layers).toHaveLength(missing.length);
    expect(bytes).toBeLessThan(2 * LAYER_BYTES);
    expect((await deployments()).map(({ image }) => image)).toEqual([v2, v1]);
    expect((await facts(v2)).layers.every(({ present }) => present)).toBe(true);
  });
});

describe('kernel arguments', () => {
  it('are deleted if present, then appended, and inherited by the next image', async () => {
    await driver.stage(v1, context());
    await driver.setKernelArguments({ from: ['absent'], to: ['a=1 quiet', 'b="x y"'] }, context());
    expect((await deployments())[0]?.kernelArguments).toEqual(['a=1', 'quiet', 'b="x y"']);
    // With another spelling.
    await driver.setKernelArguments({ from: ['a="1" "quiet"'], to: ['quiet', 'c'] }, context());
    expect((await deployments())[0]?.kernelArguments).toEqual(['b="x y"', 'quiet', 'c']);
    await driver.stage(v2, context());
    expect((await deployments())[0]).toMatchObject({
      image: v2,
      kernelArguments: ['b="x y"', 'quiet', 'c'],
    });
    await driver.setKernelArguments({ from: ['"b=x y"', 'quiet'], to: [] }, context());
    expect((await deployments())[0]?.kernelArguments).toEqual(['c']);
  });

  it('that are right already make no deployment', async () => {
    await driver.stage(v1, context());
    const before = await deployments();
    await driver.setKernelArguments({ from: ['absent'], to: [] }, context());
    expect(await deployments()).toEqual(before);
  });
});

describe('the rollback', () => {
  it('makes a deployment the default by its ID, and drops the other with what only it needs', async () => {
    await driver.stage(v1, context());
    await driver.stage(v2, context());
    const [newer, older] = await deployments();
    await driver.rollback(older?.id ?? '');
    expect((await deployments()).map(({ id }) => id)).toEqual([older?.id, newer?.id]);
    await driver.rollback(older?.id ?? '');
    await driver.cleanUp(newer?.id ?? '');
    await driver.cleanUp(newer?.id ?? '');
    expect(await deployments()).toEqual([older]);
    expect((await facts(v1)).layers.every(({ present }) => present)).toBe(true);
    expect((await facts(v2)).layers.some(({ present }) => !present)).toBe(true);
  });

  it('names the deployments that there are', async () => {
    await driver.stage(v1, context());
    const [only] = await deployments();
    await expect(driver.rollback('c0ffee.0')).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: `there is no deployment c0ffee.0 to boot; there are: ${only?.id}`,
    });
  });

  it('has nothing to release or to drop where nothing is staged', async () => {
    await driver.stage(v1, context());
    const before = await deployments();
    await driver.finalize();
    await driver.discard();
    expect(await deployments()).toEqual(before);
  });
});

describe('what is refused', () => {
  it('is an image for other machines, before its layers', async () => {
    const other = ARCHITECTURES[process.arch] ?? 'amd64';
    const image = await push('other', { a: 'a1', b: 'b1', c: 'c1' }, other);
    await expect(driver.checkImage(image, context())).rejects.toMatchObject({
      name: 'ImageRefused',
      message: expect.stringContaining(`is for ${other}; this machine is `) as string,
    });
    await expect(driver.stage(image, context())).rejects.toThrow(other);
    expect(await deployments()).toEqual([]);
  });

  it('is an image without a digest, also by the program itself', async () => {
    const image = `${registry.address}/os:v1`;
    await expect(driver.stage(image, context())).rejects.toMatchObject({ name: 'ImageRefused' });
    const end = await withEnvironment(program, ['--sysroot', sysroot.path, 'stage', image]);
    expect(JSON.parse(end.lines.at(-1) ?? '')).toMatchObject({ error: { name: 'ImageRefused' } });
    expect(end.status).toBe(1);
  });

  it('is a status of a machine that did not boot from ostree', async () => {
    await expect(driver.status()).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringContaining('did not boot from ostree') as string,
    });
  });
});

describe('a registry', () => {
  it('that does not know the digest is named with its answer', async () => {
    const image = `${registry.address}/os@sha256:${'0'.repeat(64)}`;
    for (const attempt of [driver.checkImage(image, context()), driver.stage(image, context())]) {
      await expect(attempt).rejects.toMatchObject({
        name: 'PullFailed',
        message: expect.stringContaining('manifest unknown') as string,
      });
    }
    expect(await deployments()).toEqual([]);
  });

  it('that is down is named with the reason', async () => {
    await registry.kill();
    try {
      await expect(driver.checkImage(v1, context())).rejects.toMatchObject({
        name: 'PullFailed',
        message: expect.stringContaining('connection refused') as string,
      });
    } finally {
      await registry.restart();
    }
  });

  it('that serves a broken blob changes nothing, and the next pull goes through', async () => {
    await driver.stage(v1, context());
    const before = await deployments();
    const changed = (await facts(v2)).layers.filter(({ present }) => !present);
    const largest = changed.reduce((a, b) => (a.bytes > b.bytes ? a : b));
    const file = registry.blobFile(largest.digest);
    const content = await readFile(file);
    const broken = Buffer.from(content);
    broken.writeUInt8(broken.readUInt8(broken.length >> 1) ^ 0xff, broken.length >> 1);
    await writeFile(file, broken);
    try {
      await expect(driver.stage(v2, context())).rejects.toMatchObject({ name: 'PullFailed' });
    } finally {
      await writeFile(file, content);
    }
    expect(await deployments()).toEqual(before);
    await driver.stage(v2, context());
    expect((await deployments())[0]).toMatchObject({ image: v2 });
  });

  it('that breaks off in the middle of a layer changes nothing', async () => {
    gate.decide((_digest, index) => (index === 2 ? 'half' : 'pass'));
    await expect(driver.stage(throughGate(v1), context())).rejects.toMatchObject({
      name: 'PullFailed',
    });
    expect(await deployments()).toEqual([]);
  });
});

describe('a pull that is cut off', () => {
  /** Lets some blobs pass and holds the next one until the pull is ended. */
  async function holdAfter(blobs: number, end: () => Promise<void>): Promise<void> {
    gate.decide((_digest, index) => (index < blobs ? 'pass' : 'hold'));
    await gate.held();
    await end();
    gate.decide(() => 'pass');
  }

  async function expectRest(image: string): Promise<void> {
    const { layers } = await facts(image);
    const present = layers.filter((layer) => layer.present);
    expect(present.length).toBeGreaterThan(0);
    expect(present.length).toBeLessThan(layers.length);
    const { blobs } = await registry.during(() => driver.stage(image, context()));
    const again = blobs.filter(({ digest }) => present.some((layer) => layer.digest === digest));
    expect(again).toEqual([]);
    expect((await deployments())[0]).toMatchObject({ digest: digestOf(image) });
  }

  it('by a kill keeps the layers that it finished', async () => {
    const image = throughGate(v1);
    const args = ['--sysroot', sysroot.path, 'stage', image];
    const pull = spawn(program, args, { env: { ...process.env, ...environment }, stdio: 'ignore' });
    const ended = once(pull, 'exit');
    await holdAfter(3, async () => {
      pull.kill('SIGKILL');
      await ended;
    });
    await expectRest(image);
  });

  it('by a cancelled step ends with its reason and keeps the layers, too', async () => {
    const image = throughGate(v1);
    const abort = new AbortController();
    const reason = new Error('cancelled');
    const pull = driver.stage(image, { ...context(), signal: abort.signal });
    const ended = expect(pull).rejects.toBe(reason);
    await holdAfter(3, async () => {
      abort.abort(reason);
      await ended;
    });
    await expectRest(image);
  });
});
