import { bundleWorkflowCode } from '@temporalio/worker';
import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';

/**
 * The workflows as they are shipped, with the names that they have in the sources: what a planted bug
 * is written into. The shipped bundle differs from it by its shorter names only.
 */
export async function readableBundle(): Promise<string> {
  const silent = (): void => undefined;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(repositoryRoot(), 'workflows', 'index.ts'),
    webpackConfigHook: (config) => ({
      ...config,
      mode: 'production',
      optimization: { ...config.optimization, minimize: false, concatenateModules: false },
    }),
    logger: {
      ...{ log: silent, trace: silent, debug: silent, info: silent },
      warn: console.warn,
      error: console.error,
    },
  });
  return code;
}
