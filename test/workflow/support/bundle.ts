import { join } from 'node:path';
import { bundleWorkflows } from '../../../tools/workflow-bundle';
import { repositoryRoot } from '../../../tools/repository-root';

let bundled: Promise<string> | undefined;

/** The workflows as shipped, bundled at most once per change of the sources and shared by all suites. */
export function workflowBundle(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const path = join(repositoryRoot(), 'node_modules', '.cache', 'slipway', 'workflow-bundle.js');
  await bundleWorkflows(path);
  return path;
}
