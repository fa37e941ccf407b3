/** Whether hosts at rest match the configs that their Nodes and their own records name (I4). */

import { setTimeout as delay } from 'node:timers/promises';
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
 * @returns all differences from that config; empty = byte for byte equal
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

/** Open journals below the root: the host is changing, or was left half changed. */
export function openJournals(root: string): readonly string[] {
  const directory = join(root, JOURNALS);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => existsSync(join(directory, name, 'log')));
}

/** Whether a journal says that its update is completely on the disk; the step that wrote it may still run. */
export function isApplied(root: string): boolean {
  return openJournals(root).some((name) =>
    readFileSync(join(root, JOURNALS, name, 'log'), 'utf8').includes('"kind":"applied"'),
  );
}

const GROUP = 'machineconfiguration.openshift.io';
/** The last step of an update comes after the Node is done; a difference that lasts longer counts. */
const SETTLING_MS = 20_000;

interface NodeObject {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly unschedulable?: boolean };
}

/** A node that no update works on, by its own status. */
interface AtRest {
  readonly config: string;
  readonly hasFailed: boolean;
}

interface DisksAtRest {
  /** Hosts that were done and were compared with their config. */
  readonly compared: number;
  readonly wrong: readonly string[];
}

/**
 * Compares the disks of all hosts that are done and on their desired config, at the end of a suite. Failed hosts
 * in service must have no open journal; the stories check the rest of these, and hosts with a running update.
 */
export async function compareDisks(
  api: ApiClient,
  hostRoot: (node: string) => string,
  settlingMs = SETTLING_MS,
): Promise<DisksAtRest> {
  const deadline = Date.now() + settlingMs;
  for (;;) {
    // With thousands of hosts one check takes longer than hosts need to settle.
    const isLast = Date.now() >= deadline;
    const disks = await lookAtDisks(api, hostRoot);
    if (isLast || disks.wrong.length === 0) return disks;
    await delay(500);
  }
}

/** @throws Error that names each host that differs from its config, with the differences */
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
  // An update that began meanwhile shows on its Node before it changes the disk.
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
 * For a host that is done.
 *
 * @returns differences, and what updates keep for rollback; empty = it has the config, and no update left anything
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
