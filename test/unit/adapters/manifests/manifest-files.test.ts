import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeManifestProblem, readManifestFiles } from '../../../../adapters/manifests';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'slipway-manifests-')));
  mkdirSync(join(root, 'manifests', 'below'), { recursive: true });
  mkdirSync(join(root, 'elsewhere'));
});

afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string): void => writeFileSync(join(root, path), '{}');

async function read() {
  const { files, problems } = await readManifestFiles(join(root, 'manifests'));
  return {
    paths: files.map(({ path }) => path.replace(`${root}/`, '')),
    problems: problems.map((one) => describeManifestProblem(one).replace(`${root}/`, '')),
  };
}

it('reads what is below, through links to files and directories, and nothing that is hidden', async () => {
  write('manifests/b.yaml');
  write('manifests/.hidden.yaml');
  write('manifests/below/a.json');
  write('manifests/README.md');
  write('elsewhere/one.yml');
  symlinkSync('../elsewhere', join(root, 'manifests', 'linked'));
  symlinkSync('../elsewhere/one.yml', join(root, 'manifests', 'c.yaml'));

  expect(await read()).toEqual({
    paths: [
      'manifests/b.yaml',
      'manifests/below/a.json',
      'manifests/c.yaml',
      'manifests/linked/one.yml',
    ],
    problems: [],
  });
});

it.each([
  ['itself', '.'],
  ['the directory around it', '..'],
  ['everything', '/'],
])('names a link that leads back to %s, and reads the rest', async (_, target) => {
  write('manifests/below/a.yaml');
  symlinkSync(target, join(root, 'manifests', 'below', 'link'));

  expect(await read()).toEqual({
    paths: ['manifests/below/a.yaml'],
    problems: [
      'manifests/below/link:1: a link back to a directory around it, which is not followed; remove it',
    ],
  });
});

it('names a link that closes a circle elsewhere', async () => {
  symlinkSync('../elsewhere', join(root, 'manifests', 'linked'));
  symlinkSync('../manifests', join(root, 'elsewhere', 'back'));

  expect((await read()).problems).toEqual([
    'manifests/linked/back:1: a link back to a directory around it, which is not followed; remove it',
  ]);
});

it('names a manifest that is a link to nothing', async () => {
  symlinkSync('nowhere', join(root, 'manifests', 'gone.yaml'));
  symlinkSync('nowhere', join(root, 'manifests', 'gone'));

  expect((await read()).problems).toEqual([
    'manifests/gone.yaml:1: cannot be read (ENOENT); correct its permissions, or remove it',
  ]);
});
