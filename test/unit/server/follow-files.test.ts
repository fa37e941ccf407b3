import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followFiles } from '../../../server/follow-files';

let root: string;
let abort: AbortController;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-follow-'));
  abort = new AbortController();
});

afterEach(() => {
  abort.abort();
  rmSync(root, { recursive: true });
});

const log = { info: () => undefined, warn: () => undefined };

function next(file: string): { readonly changed: Promise<void> } {
  let tell: () => void = () => undefined;
  const changed = new Promise<void>((resolve) => {
    tell = resolve;
  });
  followFiles([file], () => tell(), { signal: abort.signal, log });
  return { changed };
}

it('follows a file that is replaced', async () => {
  const file = join(root, 'c.pem');
  writeFileSync(file, 'one');
  const { changed } = next(file);

  writeFileSync(`${file}.new`, 'two');
  renameSync(`${file}.new`, file);

  await expect(changed).resolves.toBeUndefined();
});

it('follows the target of a link in another directory', async () => {
  mkdirSync(join(root, 'real'));
  mkdirSync(join(root, 'links'));
  const target = join(root, 'real', 'c.pem');
  const link = join(root, 'links', 'c.pem');
  writeFileSync(target, 'one');
  symlinkSync(target, link);
  const { changed } = next(link);

  writeFileSync(`${target}.new`, 'two');
  renameSync(`${target}.new`, target);

  await expect(changed).resolves.toBeUndefined();
});

it('follows a link of a link, when the second leads elsewhere', async () => {
  for (const name of ['links', 'more', 'real']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'real', 'one.pem'), 'one');
  writeFileSync(join(root, 'real', 'two.pem'), 'two');
  symlinkSync('../real/one.pem', join(root, 'more', 'c.pem'));
  symlinkSync('../more/c.pem', join(root, 'links', 'c.pem'));
  const { changed } = next(join(root, 'links', 'c.pem'));

  symlinkSync('../real/two.pem', join(root, 'more', 'new'));
  renameSync(join(root, 'more', 'new'), join(root, 'more', 'c.pem'));

  await expect(changed).resolves.toBeUndefined();
});

it('follows a directory of the way that is a link, as of a mounted Secret', async () => {
  for (const name of ['links', 'secret/..one', 'secret/..two']) {
    mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, name, 'c.pem'), name);
  }
  rmSync(join(root, 'links', 'c.pem'));
  symlinkSync('..one', join(root, 'secret', '..data'));
  symlinkSync(join(root, 'secret', '..data', 'c.pem'), join(root, 'links', 'c.pem'));
  const { changed } = next(join(root, 'links', 'c.pem'));

  symlinkSync('..two', join(root, 'secret', '..new'));
  renameSync(join(root, 'secret', '..new'), join(root, 'secret', '..data'));

  await expect(changed).resolves.toBeUndefined();
});

it('follows a link to nothing until its file comes', async () => {
  mkdirSync(join(root, 'links'));
  mkdirSync(join(root, 'real'));
  symlinkSync('../real/c.pem', join(root, 'links', 'c.pem'));
  const { changed } = next(join(root, 'links', 'c.pem'));

  writeFileSync(join(root, 'real', 'c.pem'), 'one');

  await expect(changed).resolves.toBeUndefined();
});

it('follows a file whose directories are still to come', async () => {
  const directory = join(root, 'bootstrap', 'join-tokens');
  const { changed } = next(join(directory, 'one.yaml'));

  mkdirSync(directory, { recursive: true });

  await expect(changed).resolves.toBeUndefined();
});
