import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ResolveContext } from '../../../../tools/binaries/resolve';
import { readSettings } from '../../../../tools/binaries/settings';

/** Directories of a machine with only the test's programs, and without a network. */
export interface Workspace {
  readonly directory: string;
  /** The only directory on PATH. */
  readonly bin: string;
  readonly cache: string;
  readonly reported: string[];
  script(path: string, body: string): string;
  /** Settings from these variables beside PATH and the cache, for linux/amd64. */
  context(variables?: Readonly<Record<string, string>>): ResolveContext;
  remove(): void;
}

/** A port on which nothing listens. */
const NOWHERE = 'http://127.0.0.1:2';

export function createWorkspace(): Workspace {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-binaries-'));
  const bin = join(directory, 'bin');
  const cache = join(directory, 'cache');
  const reported: string[] = [];
  mkdirSync(bin);
  for (const program of ['tar', 'gzip', 'sleep']) linkSystemProgram(program, bin);
  return {
    directory,
    bin,
    cache,
    reported,
    script: (path, body) => {
      writeFileSync(path, `#!/bin/sh\n${body}\n`);
      chmodSync(path, 0o755);
      return path;
    },
    context: (variables = {}) => {
      const settings = readSettings({
        PATH: bin,
        SLIPWAY_CACHE: cache,
        SLIPWAY_RELEASES_GITHUB: NOWHERE,
        SLIPWAY_RELEASES_GITHUB_API: NOWHERE,
        SLIPWAY_RELEASES_KUBERNETES: NOWHERE,
        ...variables,
      });
      return {
        settings: {
          ...settings,
          platform: { os: 'linux', arch: 'amd64' },
          answerTimeoutMs: 2_000,
        },
        report: (line) => reported.push(line),
      };
    },
    remove: () => {
      rmSync(directory, { recursive: true });
    },
  };
}

function linkSystemProgram(program: string, bin: string): void {
  const found = ['/usr/bin', '/bin']
    .map((from) => join(from, program))
    .find((path) => existsSync(path));
  if (found !== undefined) symlinkSync(found, join(bin, program));
}

/** A `go` that answers `go env` and builds a script which prints `built`. */
export function fakeGo(version: string, beforeBuild = ':'): string {
  return `
case "$1" in
  env) echo ${version}; echo local ;;
  build)
    while [ "$1" != -o ]; do shift; done
    ${beforeBuild}
    printf '#!/bin/sh\\necho built\\n' > "$2" ;;
esac`;
}
