/** Whether hosts at rest are on the configs that their Nodes and their own records name (I4). */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../../tools/cluster';
import { differencesAmong } from './host-disk';
import { roomLeft } from './leftovers';
import { renderedConfigs, type RenderedConfigs } from './rendered-config';

/** The host's own record of its config, below its root. */
export const CURRENT_CONFIG_FILE = 'etc/machine-config-daemon/currentconfig';

/**
 * @param said - `currentConfig` of the Node
 * @returns everything that is not as the Node says; empty = byte for byte on that config
 */
export async function wrongOnDisk(
  configs: RenderedConfigs,
  said: string,
  root: string,
): Promise<readonly string[]> {
  const recorded = currentConfigOn(root);
  return [
    ...(recorded === said ? [] : [`the host names ${recorded}, its Node ${said}`]),
    ...(await differencesAmong(configs, said, root)),
  ];
}

function currentConfigOn(root: string): string {
  const text = readFileSync(join(root, CURRENT_CONFIG_FILE), 'utf8');
  return (JSON.parse(text) as { metadata: { name: string } }).metadata.name;
}

const GROUP = 'machineconfiguration.openshift.io';
/** The last step of an update comes after the Node is done, so what is wrong for longer is wrong. */
const SETTLING_MS = 20_000;

interface NodeObject {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/**
 * Compares the disks of all hosts that are done and on the config that they are to be on, when a suite is
 * over. Who has failed or is under way is for the stories to judge.
 *
 * @throws Error naming each host that is not on its config, with what is not as that says
 */
export async function judgeDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
): Promise<void> {
  const deadline = Date.now() + SETTLING_MS;
  for (;;) {
    const wrong = await wrongDisks(api, hostRoot);
    if (wrong.length === 0) return;
    if (Date.now() > deadline) throw new Error(`disks at rest:\n${wrong.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function wrongDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
): Promise<readonly string[]> {
  const before = await configsAtRest(api);
  const configs = await renderedConfigs(api);
  const found = new Map<string, readonly string[]>();
  for (const [node, config] of before) {
    const root = hostRoot(node);
    found.set(node, [...(await wrongOnDisk(configs, config, root)), ...(await roomLeft(root))]);
  }
  // An update that began meanwhile is shown on its Node before it changes the disk.
  const after = await configsAtRest(api);
  return [...found]
    .filter(([node, wrong]) => wrong.length > 0 && after.get(node) === before.get(node))
    .map(([node, wrong]) => `${node} on ${before.get(node) ?? ''}: ${wrong.join('; ')}`);
}

async function configsAtRest(api: ApiClient): Promise<ReadonlyMap<string, string>> {
  const { items } = await api.call<{ readonly items: readonly NodeObject[] }>(
    'GET',
    '/api/v1/nodes',
  );
  return new Map(
    items.flatMap(({ metadata: { name, annotations = {} } }) => {
      const current = annotations[`${GROUP}/currentConfig`];
      const isDone =
        annotations[`${GROUP}/state`] === 'Done' &&
        annotations[`${GROUP}/desiredConfig`] === current;
      return isDone && current !== undefined ? [[name, current] as const] : [];
    }),
  );
}
