import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BinarySource } from './catalogue';
import { findOnPath } from './search-path';
import { run } from './run-program';
import type { BinarySettings } from './settings';
import { compareVersions, parseVersion } from './versions';

/**
 * The compiler collects garbage only above this limit, which saves a tenth of a build. Set
 * GOMEMLIMIT in the environment for machines with less memory.
 */
const COMPILER_MEMORY = { GOGC: 'off', GOMEMLIMIT: '1500MiB' } as const;

/**
 * In the folder that has its go.mod, into `directory`.
 *
 * @returns the path of the program
 * @throws Error with the end of the compiler's output
 */
export async function buildFromSource(
  go: string,
  source: BinarySource,
  moduleDirectory: string,
  output: string,
  settings: BinarySettings,
): Promise<string> {
  const variables = Object.entries(source.goVariables).map(
    ([name, value]) => `-X ${name}=${value}`,
  );
  const linker = ['-s', '-w', ...variables].join(' ');
  // The linker drops debugging data.
  const compiler = '-gcflags=all=-dwarf=false';
  const tags = source.goTags === undefined ? [] : [`-tags=${source.goTags.join()}`];
  const flags = ['-trimpath', compiler, ...tags, `-ldflags=${linker}`];
  const args = ['build', ...flags, '-o', output, source.goPackage];
  const cgo = source.needsC === undefined ? '0' : '1';
  const environment = { ...COMPILER_MEMORY, ...settings.environment, CGO_ENABLED: cgo };
  await run(go, args, environment, moduleDirectory);
  return output;
}

/** @throws Error that names the version needed, when Go is missing or too old for this module */
export async function requireGo(
  source: BinarySource,
  moduleDirectory: string,
  settings: BinarySettings,
): Promise<string> {
  const needed = await goDirective(moduleDirectory);
  const go = await findOnPath('go', settings.searchPath);
  if (go === undefined) {
    throw new Error(`building ${source.folder} needs Go ${needed} or newer on PATH; there is none`);
  }
  const answer = await run(go, ['env', 'GOVERSION', 'GOTOOLCHAIN'], settings.environment, '/');
  const [found = '', toolchain = ''] = answer.split('\n');
  const version = parseVersion(found);
  const tooOld = version === undefined || compareVersions(version, parseVersion(needed)) < 0;
  // From 1.21 on, Go fetches the toolchain that go.mod names, unless GOTOOLCHAIN is local.
  if (tooOld && !toolchain.includes('auto')) {
    throw new Error(
      `building ${source.folder} needs Go ${needed} or newer; ${go} is ${found || 'unknown'}`,
    );
  }
  return go;
}

async function goDirective(moduleDirectory: string): Promise<string> {
  const manifest = join(moduleDirectory, 'go.mod');
  const version = /^go (\S+)$/m.exec(await readFile(manifest, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${manifest} has no go directive`);
  return version;
}
