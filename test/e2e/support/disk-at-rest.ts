/** Whether hosts at rest are on the configs that their Nodes and their own records name (I4). */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

const JOURNALS = 'var/lib/slipway/journal';

/** Names of the journals below its root that are open: its host is changing, or has been left half changed. */
export function openJournals(root: string): readonly string[] {
  const directory = join(root, JOURNALS);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => existsSync(join(directory, name, 'log')));
}

/** Whether one of them says that its update is on the disk as a whole; the step that put it there may still run. */
export function isApplied(root: string): boolean {
  return openJournals(root).some((name) =>
    readFileSync(join(root, JOURNALS, name, 'log'), 'utf8').includes('"kind":"applied"'),
  );
}

const GROUP = 'machineconfiguration.openshift.io';
/** The last step of an update comes after the Node is done, so what is wrong for longer is wrong. */
const SETTLING_MS = 20_000;

interface NodeObject {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly unschedulable?: boolean };
}

/** A node that nobody works on, as far as it says. */
interface AtRest {
  readonly config: string;
  /** Its update failed, and it was put back into service. */
  readonly hasFailed: boolean;
}

/** What the disks of all hosts that are at rest have shown. */
export interface DisksAtRest {
  /** How many were done, and were compared with their config: nothing wrong is worth as much as that. */
  readonly compared: number;
  /** Each host that is not on its config, with what is not as that says. */
  readonly wrong: readonly string[];
}

/**
 * Compares the disks of all hosts that are done and on the config that they are to be on, when a suite is
 * over. Of those that have failed and serve no journal may be open; the rest of them is for the stories to judge,
 * as who is under way is.
 */
export async function compareDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
  settlingMs = SETTLING_MS,
): Promise<DisksAtRest> {
  const deadline = Date.now() + settlingMs;
  for (;;) {
    // Of thousands of hosts one look takes longer than they have to settle.
    const isLast = Date.now() >= deadline;
    const disks = await lookAtDisks(api, hostRoot);
    if (isLast || disks.wrong.length === 0) return disks;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** @throws Error naming each host that is not on its config, with what is not as that says */
export async function judgeDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
  settlingMs = SETTLING_MS,
): Promise<void> {
  const { wrong } = await compareDisks(api, hostRoot, settlingMs);
  if (wrong.length > 0) throw new Error(`disks at rest:\n${wrong.join('\n')}`);
}

async function lookAtDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
): Promise<DisksAtRest> {
  const before = await nodesAtRest(api);
  const configs = await renderedConfigs(api);
  const found = new Map<string, readonly string[]>();
  for (const [node, one] of before) found.set(node, await wrongOn(configs, hostRoot(node), one));
  // An update that began meanwhile is shown on its Node before it changes the disk.
  const after = await nodesAtRest(api);
  const atRest = [...found].filter(([node]) => isSame(before.get(node), after.get(node)));
  return {
    compared: atRest.filter(([node]) => before.get(node)?.hasFailed === false).length,
    wrong: atRest
      .filter(([, wrong]) => wrong.length > 0)
      .map(([node, wrong]) => `${node} on ${before.get(node)?.config ?? ''}: ${wrong.join('; ')}`),
  };
}

async function wrongOn(
  configs: RenderedConfigs,
  root: string,
  { config, hasFailed }: AtRest,
): Promise<readonly string[]> {
  return hasFailed ? journalsLeft(root) : wrongOrLeft(configs, config, root);
}

/**
 * Of a host that is done.
 *
 * @returns also what an update keeps for its way back; empty = it is on the config, and nothing is left of any update
 */
export async function wrongOrLeft(
  configs: RenderedConfigs,
  config: string,
  root: string,
): Promise<readonly string[]> {
  return [
    ...journalsLeft(root),
    ...(await wrongOnDisk(configs, config, root)),
    ...(await roomLeft(root)),
  ];
}

function journalsLeft(root: string): readonly string[] {
  return openJournals(root).map((name) => `its journal ${name} is open`);
}

function isSame(one: AtRest | undefined, other: AtRest | undefined): boolean {
  return one?.config === other?.config && one?.hasFailed === other?.hasFailed;
}

async function nodesAtRest(api: ApiClient): Promise<ReadonlyMap<string, AtRest>> {
  const { items } = await api.call<{ readonly items: readonly NodeObject[] }>(
    'GET',
    '/api/v1/nodes',
  );
  return new Map(
    items.flatMap((node) => {
      const one = atRest(node);
      return one === undefined ? [] : [[node.metadata.name, one] as const];
    }),
  );
}

function atRest({ metadata: { annotations = {} }, spec }: NodeObject): AtRest | undefined {
  const config = annotations[`${GROUP}/currentConfig`];
  const state = annotations[`${GROUP}/state`];
  if (config === undefined) return undefined;
  const isDone = state === 'Done' && annotations[`${GROUP}/desiredConfig`] === config;
  const hasFailed = state === 'Degraded' && spec?.unschedulable !== true;
  return isDone || hasFailed ? { config, hasFailed } : undefined;
}
