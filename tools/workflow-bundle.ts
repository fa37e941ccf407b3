import { bundleWorkflowCode } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot } from './repository-root';

const INPUTS = ['core', 'workflows'];

/**
 * Bundles the workflows for workers (`workflowBundle: {codePath}`). Does nothing when sources, SDK
 * and bundler are unchanged.
 *
 * Production mode: a smaller bundle costs less memory per cached workflow. The SDK needs the inline
 * source map.
 *
 * @param out - path of the bundle; replaced atomically
 * @returns whether a new bundle was made
 */
export async function bundleWorkflows(out: string): Promise<boolean> {
  const inputs = await fingerprint();
  const record = `${out}.inputs`;
  if (existsSync(out) && (await contentOf(record)) === inputs) return false;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(repositoryRoot(), 'workflows', 'index.ts'),
    failureConverterPath: join(repositoryRoot(), 'workflows', 'failure-converter.ts'),
    webpackConfigHook: (config) => ({ ...config, mode: 'production' }),
    logger: QUIET,
  });
  await mkdir(dirname(out), { recursive: true });
  const draft = `${out}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, out);
  await writeFile(record, inputs);
  return true;
}

const silent = (): void => undefined;
const complain = (message: string): void => void process.stderr.write(`${message}\n`);
const QUIET = {
  log: silent,
  trace: silent,
  debug: silent,
  info: silent,
  warn: complain,
  error: complain,
};

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  const root = repositoryRoot();
  for (const folder of INPUTS) {
    const names = await readdir(join(root, folder), { recursive: true });
    for (const name of names.filter((entry) => entry.endsWith('.ts')).sort()) {
      hash.update(`${folder}/${name}\n`);
      hash.update(await readFile(join(root, folder, name)));
    }
  }
  hash.update(await readFile(join(root, 'package-lock.json')));
  hash.update(await readFile(__filename));
  return hash.digest('hex');
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function main(): Promise<void> {
  const out = process.argv[2];
  if (out === undefined) {
    process.stderr.write('usage: node dist/tools/workflow-bundle.js OUT.js\n');
    process.exit(2);
  }
  await bundleWorkflows(out);
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`slipway: bundling the workflows failed: ${String(error)}\n`);
    process.exit(1);
  });
}
