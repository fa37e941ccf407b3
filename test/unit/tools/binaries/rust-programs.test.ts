import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveRustProgram, sourceDigest } from '../../../../tools/binaries/rust-programs';
import { createWorkspace, type Workspace } from './workspace';

/** A cargo that builds scripts which print `built`, only with the lock file and only outside the crate. */
const fakeCargo = (version: string) => `
case "$1" in
  --version) echo "cargo ${version} (abc 2026-01-01)" ;;
  build)
    case "$*" in *--locked*) ;; *) echo 'not locked' >&2; exit 1 ;; esac
    /bin/mkdir -p "$CARGO_TARGET_DIR/release"
    for name in slipway-ostree ostree-ext-cli; do
      printf '#!/bin/sh\\necho built\\n' > "$CARGO_TARGET_DIR/release/$name"
    done ;;
esac`;

let machine: Workspace;
let crateDirectory: string;

beforeEach(() => {
  machine = createWorkspace();
  crateDirectory = join(machine.directory, 'crate');
  mkdirSync(join(crateDirectory, 'src'), { recursive: true });
  writeFileSync(join(crateDirectory, 'Cargo.toml'), '[package]\nrust-version = "1.85"\n');
  writeFileSync(join(crateDirectory, 'Cargo.lock'), 'version = 4\n');
  writeFileSync(join(crateDirectory, 'src/main.rs'), 'fn main() {}\n');
});

afterEach(() => {
  machine.remove();
});

const find = (variables: Readonly<Record<string, string>> = {}) =>
  resolveRustProgram('slipway-ostree', { ...machine.context(variables), crateDirectory });

function canBuild(version = '1.95.0'): void {
  machine.script(join(machine.bin, 'cargo'), fakeCargo(version));
  machine.script(join(machine.bin, 'pkg-config'), 'exit 0');
}

const edit = (): void => writeFileSync(join(crateDirectory, 'src/main.rs'), 'fn main() { () }\n');

it('takes what the environment names, and refuses it when it cannot run', async () => {
  canBuild();
  const own = machine.script(join(machine.directory, 'mine'), 'echo own');
  expect(await find({ SLIPWAY_OSTREE: own })).toBe(own);
  await expect(find({ SLIPWAY_OSTREE: '/nowhere' })).rejects.toThrow(
    'SLIPWAY_OSTREE names /nowhere, which is not an executable file',
  );
});

it('takes what is on PATH before it builds', async () => {
  canBuild();
  const onPath = machine.script(join(machine.bin, 'slipway-ostree'), 'echo path');
  expect(await find()).toBe(onPath);
});

it('builds with the lock once, and again after an edit', async () => {
  canBuild();
  const first = await find();
  expect(execFileSync(first, { encoding: 'utf8' })).toBe('built\n');
  const said = machine.reported.length;
  expect(await find()).toBe(first);
  expect(machine.reported).toHaveLength(said);
  edit();
  expect(await find()).not.toBe(first);
});

it('names cargo that is missing or too old', async () => {
  machine.script(join(machine.bin, 'pkg-config'), 'exit 0');
  await expect(find()).rejects.toThrow('it needs cargo 1.85 or newer on PATH; there is none');
  canBuild('1.63.0');
  await expect(find()).rejects.toThrow(/it needs cargo 1\.85 or newer; .* is cargo 1\.63\.0/);
});

it('names every system package that is missing', async () => {
  canBuild();
  machine.script(
    join(machine.bin, 'pkg-config'),
    'case "$2" in ostree-1*|libzstd*) exit 1 ;; esac',
  );
  await expect(find()).rejects.toThrow(
    'it needs the system packages libostree-dev (ostree-1 >= 2022.6), libzstd-dev (libzstd >= 1.4)',
  );
});

it('tells what it is built from by content and name', async () => {
  const before = await sourceDigest(crateDirectory);
  expect(await sourceDigest(crateDirectory)).toBe(before);
  edit();
  const edited = await sourceDigest(crateDirectory);
  expect(edited).not.toBe(before);
  writeFileSync(join(crateDirectory, 'src/more.rs'), '');
  expect(await sourceDigest(crateDirectory)).not.toBe(edited);
});
