import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import {
  createHostFiles,
  createOfflineSystemd,
  type EnablementChange,
} from '../../../../adapters/host';
import { NO_ATTRIBUTES } from '../../../../adapters/host/attributes';
import { verbsFor } from '../../../../adapters/host/systemctl';
import { simulatedOwnership } from '../../../../adapters/simulation';

const ETC = 'etc/systemd/system';
const VENDOR = 'usr/lib/systemd/system';

/** Every kind of line that an `[Install]` section can have. */
const TARGETS = [
  ...['x.target', 'y.target', 'of-%p-%j.target', 'of-%i.target', '%N.target'],
  ...['"quoted.target"', "'of-%p'.target"],
];
const targets = fc.subarray(TARGETS, { maxLength: 2 });
const install = fc.record({
  WantedBy: targets,
  RequiredBy: targets,
  Also: fc.subarray(['a.service', 'b.socket', 'missing.service'], { maxLength: 1 }),
});
const aliases = fc.subarray(['one-of-%p.service', '"two-of-%p".service'], { maxLength: 1 });
const plain = fc.record({
  directory: fc.constantFrom(ETC, VENDOR),
  install: fc.option(install, { nil: undefined, freq: 4 }),
  alias: aliases,
  dropin: fc.option(targets, { nil: undefined }),
});
const template = fc.record({
  directory: fc.constantFrom(ETC, VENDOR),
  install,
  alias: fc.subarray(['also-%p@.service', 'also-%p@%i.service'], { maxLength: 1 }),
  defaultInstance: fc.constantFrom(undefined, 'one'),
});
/** As `systemctl link` leaves it: the file is in another place. */
const linked = fc.record({ install: fc.option(install, { nil: undefined, freq: 4 }) });
const world = fc.record({ a: plain, b: plain, t: template, u: template, l: linked });
const unit = fc.constantFrom(
  'a.service',
  'b.socket',
  't-1@.service',
  't-1@q.service',
  'u@z.service',
  'l.service',
);
const change: fc.Arbitrary<EnablementChange> = fc.record({
  unit,
  wish: fc.constantFrom('enable', 'disable', 'preset'),
});
const preset = fc.constantFrom('', 'disable *\n', 'enable a.*\ndisable *\n', 'disable b.socket\n');

type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

function sectionOf(lines: Readonly<Record<string, readonly string[] | undefined>>): string {
  const entries = Object.entries(lines).filter(([, values]) => (values ?? []).length > 0);
  return `[Install]\n${entries.map(([key, values]) => `${key}=${values?.join(' ')}\n`).join('')}`;
}

function filesOf({ a, b, t, u, l }: World): Readonly<Record<string, string>> {
  const service = '[Service]\nExecStart=/bin/true\n';
  const files: Record<string, string> = {
    'opt/l.service': service + (l.install === undefined ? '' : sectionOf(l.install)),
  };
  for (const [name, { directory, install, alias, dropin }] of [
    ['a.service', a],
    ['b.socket', b],
  ] as const) {
    const Alias =
      name === 'b.socket' ? alias.map((text) => text.replace('service', 'socket')) : alias;
    files[`${directory}/${name}`] =
      service + (install === undefined ? '' : sectionOf({ ...install, Alias }));
    if (dropin !== undefined) files[`${ETC}/${name}.d/x.conf`] = sectionOf({ WantedBy: dropin });
  }
  for (const [name, { directory, install, alias, defaultInstance }] of [
    ['t-1@.service', t],
    ['u@.service', u],
  ] as const) {
    const DefaultInstance = defaultInstance === undefined ? [] : [defaultInstance];
    files[`${directory}/${name}`] =
      service + sectionOf({ ...install, Alias: alias, DefaultInstance });
  }
  return files;
}

const NEXT_ID = `${'0'.repeat(64)}.0`;

function ofNextBoot(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const tree = `sysroot/ostree/deploy/os/deploy/${NEXT_ID}`;
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [
      path.startsWith('usr/') ? `${tree}/${path}` : path,
      text,
    ]),
  );
}

function filesBelow(root: string) {
  const ownership = simulatedOwnership(root);
  return createHostFiles({ root, sync: false, attributes: NO_ATTRIBUTES, ownership });
}

/** Links below `/etc/systemd/system` with their targets, and their directories. */
function linksIn(root: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(root, ETC), { recursive: true, encoding: 'utf8' })) {
    const path = join(root, ETC, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) found[name] = readlinkSync(path);
    else if (/\.(wants|requires)$/.test(name)) found[name] = 'directory';
  }
  return found;
}

describe('the links that enable units', () => {
  let scratch: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'slipway-links-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  function furnish(name: string, files: Readonly<Record<string, string>>): string {
    const root = join(scratch, name);
    for (const [path, text] of Object.entries({ [`${ETC}/.keep`]: '', ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    symlinkSync('/opt/l.service', join(root, ETC, 'l.service'));
    return root;
  }

  async function systemctl(root: string, change: EnablementChange): Promise<boolean> {
    for (const verb of await verbsFor(filesBelow(root), change)) {
      const words = ['--quiet', `--root=${root}`, verb, change.unit];
      const { status, error } = spawnSync('systemctl', words);
      if (error !== undefined) throw error;
      if (status !== 0) return false;
    }
    return true;
  }

  it('are those that systemctl makes and removes, and all of them are foreseen', async () => {
    await fc.assert(
      fc.asyncProperty(
        world,
        preset,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (units, presets, changes) => {
          rmSync(scratch, { recursive: true, force: true });
          const files = {
            ...filesOf(units),
            'usr/lib/systemd/system-preset/50.preset': presets,
          };
          const [theirs, ours] = [furnish('theirs', files), furnish('ours', files)];
          // The same machine, except for the tree of the distribution, which only the next boot has.
          const staged = furnish('staged', ofNextBoot(files));
          const atNextBoot = await createOfflineSystemd(filesBelow(staged)).atBootOf(NEXT_ID);
          const offline = (root: string) => createOfflineSystemd(filesBelow(root));
          for (const change of changes) {
            const before = linksIn(theirs);
            const foreseen = await offline(theirs).enablementPaths([change]);
            // A change that systemctl refuses half-way is undone, and is not compared.
            if (!(await systemctl(theirs, change))) return;
            const after = linksIn(theirs);
            const touched = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
              (name) =>
                before[name] !== after[name] && !(name in after && after[name] === 'directory'),
            );
            expect(foreseen).toEqual(
              expect.arrayContaining(touched.map((name) => `/${ETC}/${name}`)),
            );
            await offline(ours).setEnablement([change]);
            expect(linksIn(ours)).toEqual(after);
            expect(await atNextBoot.enablementPaths([change])).toEqual(foreseen);
            await atNextBoot.setEnablement([change]);
            expect(linksIn(staged)).toEqual(after);
          }
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);
});
