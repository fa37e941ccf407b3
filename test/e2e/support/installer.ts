/** Runs the commands that install Slipway as people do, in a copy of what they need of the repository. */

import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ensureBinary } from '../../../tools/binaries';
import { repositoryRoot } from '../../../tools/repository-root';
import { readDocumentedPage } from './documented-pages';

const run = promisify(execFile);
const NEEDED = ['package.json', 'deploy', 'tools/setup/chart-tree.mjs'];
const MAX_OUTPUT = 64 * 1024 * 1024;

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Installer {
  readonly root: string;
  /** In `dist/chart`. */
  makeChart(): void;
  /** Returns stdout. @throws Error with stderr */
  command(name: 'helm' | 'kubectl', ...args: readonly string[]): Promise<string>;
  /** All `sh` blocks under a heading of a page, in one shell that ends at the first failure. */
  documented(page: string, heading: string): Promise<void>;
}

export async function prepareInstaller(
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<Installer> {
  const root = join(directory, 'slipway');
  for (const part of NEEDED) {
    cpSync(join(repositoryRoot(), part), join(root, part), { recursive: true });
  }
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  for (const name of ['helm', 'kubectl'] as const) {
    symlinkSync(await ensureBinary(name), join(programs, name));
  }
  const options = {
    cwd: root,
    maxBuffer: MAX_OUTPUT,
    env: {
      ...process.env,
      ...environment,
      PATH: [programs, process.env['PATH'] ?? ''].join(delimiter),
      // Of Helm's caches.
      HOME: directory,
    },
  };
  return {
    root,
    makeChart: () => {
      execFileSync(process.execPath, ['tools/setup/chart-tree.mjs', 'dist/chart'], { cwd: root });
    },
    command: async (name, ...args) => (await run(name, args, options)).stdout,
    documented: async (page, heading) => {
      const script = sectionOf(page, heading);
      await run('bash', ['-euo', 'pipefail', '-c', script], options);
    },
  };
}

function sectionOf(page: string, heading: string): string {
  const { script, text } = readDocumentedPage(repositoryRoot(), page);
  const headings = text.split('\n').map((line) => /^#+ (.*)$/.exec(line)?.[1]);
  const start = headings.indexOf(heading);
  if (start === -1) throw new Error(`${page} has no heading "${heading}"`);
  const end = headings.findIndex((other, line) => line > start && other !== undefined);
  return script
    .split('\n')
    .slice(start, end === -1 ? undefined : end)
    .join('\n');
}

/** By kind, namespace and name. @throws Error where two objects are the same */
export function objectsOf(yaml: string): ReadonlyMap<string, Manifest> {
  const objects = parseAllDocuments(yaml)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
  const byKey = new Map(objects.map((object) => [keyOf(object), object]));
  if (byKey.size !== objects.length) throw new Error('an object is there twice');
  return byKey;
}

function keyOf({ kind, metadata: { namespace = '', name } }: Manifest): string {
  return `${kind} ${namespace}/${name}`;
}
