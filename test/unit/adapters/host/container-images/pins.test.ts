import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPins } from '../../../../../adapters/host/container-images/pins';
import type { RunCommand } from '../../../../../adapters/host/os/command';
import { fail } from '../../../../../core/errors';

const [A, B, C] = ['a', 'b', 'c'].map(
  (name) => `registry.example.com/${name}@sha256:${'1'.repeat(64)}`,
) as [string, string, string];
const PAUSE = 'registry.example.com/pause:1';
const PINNED = 'io.cri-containerd.pinned';
const OURS = 'slipway.dev/pinned';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-pins-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

const end = (lines: readonly string[] = [], status = 0, said = '') => ({ status, lines, said });

/** As ctr shows and changes them. @param labels - by image */
function containerd(labels: Map<string, Record<string, string>>, programs = ['ctr']) {
  let said = '';
  const run: RunCommand = async (program, args) => {
    if (!programs.includes(program)) throw fail('OsCommandFailed', `${program} is not installed`);
    if (args[0] === '--version') return end();
    if (program === 'crictl') return end(['Version:  0.1.0', 'RuntimeName:  containerd']);
    const [verb, ...words] = args.slice(3);
    if (said !== '') return end([], 1, said);
    if (verb === 'list') return end(listed(labels, words[1]));
    const [image = '', ...changes] = words;
    const all = labels.get(image);
    if (all === undefined) return end([], 1, 'not found');
    for (const change of changes) {
      const [key = '', value = ''] = change.split('=');
      if (value === '') delete all[key];
      else all[key] = value;
    }
    return end();
  };
  return {
    pins: createPins({ root, run }),
    breaks: (why: string) => {
      said = why;
    },
  };
}

function listed(
  labels: ReadonlyMap<string, Readonly<Record<string, string>>>,
  filter?: string,
): readonly string[] {
  const [, key = '', value] = /^labels\."(.*)"==(.*)$/.exec(filter ?? '') ?? [];
  const found = [...labels].filter(([, all]) => filter === undefined || all[key] === value);
  return found.map(([name]) => name);
}

const MARKS = { [PINNED]: 'pinned', [OURS]: 'true' };

describe('containerd', () => {
  it.each([[['ctr']], [['ctr', 'crictl']]])('pins by its label, with %j', async (programs) => {
    const labels = new Map([
      [A, { other: 'x' }],
      [B, {}],
    ]);
    await containerd(labels, programs).pins.set([A, C], {});
    expect(Object.fromEntries(labels)).toEqual({ [A]: { other: 'x', ...MARKS }, [B]: {} });
  });

  it('unpins what is not wanted any more, and nothing that others have pinned', async () => {
    const labels = new Map<string, Record<string, string>>([
      [A, { ...MARKS, other: 'x' }],
      [B, { ...MARKS }],
      [PAUSE, { [PINNED]: 'pinned' }],
    ]);
    const { pins } = containerd(labels);
    await pins.set([B, PAUSE], {});
    expect(Object.fromEntries(labels)).toEqual({
      ...{ [A]: { other: 'x' }, [B]: MARKS, [PAUSE]: { [PINNED]: 'pinned' } },
    });
    await pins.set([], {});
    expect(Object.fromEntries(labels)).toEqual({
      ...{ [A]: { other: 'x' }, [B]: {}, [PAUSE]: { [PINNED]: 'pinned' } },
    });
  });

  it('says what ctr says', async () => {
    const { pins, breaks } = containerd(new Map([[A, {}]]));
    breaks('connection refused');
    await expect(pins.set([A], {})).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringContaining('connection refused') as unknown,
    });
  });
});

describe('CRI-O', () => {
  const file = () => join(root, 'etc/crio/crio.conf.d/50-pinned-images');
  const stored = () => readFileSync(file(), 'utf8');

  function crio() {
    const calls: string[] = [];
    let status = 0;
    const run: RunCommand = async (program, args) => {
      if (program === 'ctr') throw fail('OsCommandFailed', 'ctr is not installed');
      if (args[0] === '--version') return end();
      if (program === 'crictl') return end(['RuntimeName:  cri-o']);
      calls.push([program, ...args].join(' '));
      return end([], status, 'the unit is not loaded');
    };
    return {
      pins: createPins({ root, run }),
      calls,
      fails: (how: number) => {
        status = how;
      },
    };
  }

  it('gets them in a file, and reads it', async () => {
    const { pins, calls } = crio();
    await pins.set([A, B], {});
    await pins.set([A, B], {});
    expect(stored()).toBe(
      `# Written by Slipway, from the PinnedImageSets of the pool.\n[crio.image]\npinned_images = [\n  "${A}",\n  "${B}",\n]\n`,
    );
    expect(calls).toEqual(['systemctl reload crio.service']);
    await pins.set([], {});
    expect(existsSync(file())).toBe(false);
    expect(calls).toHaveLength(2);
  });

  it('leaves a machine without pinned images alone', async () => {
    const { pins, calls } = crio();
    await pins.set([], {});
    expect(calls).toEqual([]);
  });

  it('removes what an earlier process has pinned', async () => {
    mkdirSync(join(root, 'etc/crio/crio.conf.d'), { recursive: true });
    writeFileSync(file(), 'x');
    const { pins, calls } = crio();
    await pins.set([], {});
    expect(existsSync(file())).toBe(false);
    expect(calls).toHaveLength(1);
  });

  it('is told again after a reload that failed', async () => {
    const { pins, calls, fails } = crio();
    fails(1);
    await expect(pins.set([A], {})).rejects.toMatchObject({ name: 'OsCommandFailed' });
    fails(0);
    await pins.set([A], {});
    expect(calls).toHaveLength(2);
  });
});

describe('a machine that can pin nothing', () => {
  const run: RunCommand = async (program) => {
    throw fail('OsCommandFailed', `${program} is not installed`);
  };

  it('is in order while there is nothing to pin', async () => {
    await expect(createPins({ root, run }).set([], {})).resolves.toBeUndefined();
  });

  it('says what to install', async () => {
    await expect(createPins({ root, run }).set([A], {})).rejects.toMatchObject({
      message: expect.stringContaining(
        'neither CRI-O nor containerd with ctr; install ctr',
      ) as unknown,
    });
  });

  it('is also one with another runtime, whatever programs it has', async () => {
    const docker: RunCommand = async (_program, args) =>
      args[0] === 'version' ? end(['RuntimeName:  docker']) : end();
    await expect(createPins({ root, run: docker }).set([A], {})).rejects.toMatchObject({
      name: 'OsCommandFailed',
    });
  });

  it('is not taken for containerd while its runtime does not answer', async () => {
    const silent: RunCommand = async (_program, args) =>
      args[0] === '--version' ? end() : end([], 1, 'connection refused');
    await expect(createPins({ root, run: silent }).set([], {})).rejects.toMatchObject({
      message: expect.stringContaining('crictl version: connection refused') as unknown,
    });
  });
});
