/** Real machines, an observer that judges from outside, and the tools of a person. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { ApiClient } from '../../../tools/cluster';
import { type Observer, startObserver } from '../../observer/observer';
import type { ObservedNode } from '../../observer/observed';
import type { RolloutRecord } from '../../observer/record';
import { until } from '../../observer/until';
import type { Invariant } from '../../observer/violation';
import { repositoryRoot } from '../../../tools/repository-root';
import { retryNode, type CliRun } from '../../e2e/support/ask-until';
import { hearVerdict, startJudge } from '../../e2e/support/verdict';
import type { Lifetime } from '../lifetime';
import { PATIENCE_MS, withDeadline } from '../machine/deadline';
import type { Machine } from '../machine/machine';
import { withoutSettings } from '../../../tools/stack/person-settings';
import { type Fleet, type FleetOptions, POOL, startFleet } from './fleet';
import { withUpdate } from './node-updates';

const GROUP = 'machineconfiguration.openshift.io';
export const CURRENT_CONFIG = `${GROUP}/currentConfig`;
export const DESIRED_CONFIG = `${GROUP}/desiredConfig`;
export const STATE = `${GROUP}/state`;
export const REASON = `${GROUP}/reason`;

/** Of one story; a wait inside it that hangs fails earlier. */
export const STORY_MS = 600_000;

export interface World {
  readonly lifetime: Lifetime;
  readonly fleet: Fleet;
  readonly api: ApiClient;
  readonly record: RolloutRecord;
  readonly machines: readonly Machine[];
  readonly machine: Machine;
  node(name: string): ObservedNode;
  target(): string;
  /** Returns the rendered config with the MachineConfig. */
  roll(object: object): Promise<string>;
  /** Returns the rendered config without the MachineConfig. */
  unroll(name: string): Promise<string>;
  /** Verified and in service. */
  allUpdatedTo(config: string, nodes?: readonly string[]): Promise<void>;
  /** The node is in service on its old config. Returns the reason. */
  failedAndBack(node: string, config: string): Promise<string>;
  untilCondition(node: string, type: string, status: string): Promise<void>;
  /** No workflow works on the machine: the last step on the host comes after Done. */
  atRest(node: string): Promise<void>;
  slipway(...args: readonly string[]): Promise<CliRun>;
  retry(node: string): Promise<CliRun>;
  until(what: string, holds: () => boolean): Promise<void>;
}

interface WorldOptions extends FleetOptions {
  /** Stories cut the power and reboot machines. */
  readonly broken?: readonly Invariant[];
}

export async function startWorld(lifetime: Lifetime, options: WorldOptions): Promise<World> {
  const fleet = await startFleet(lifetime, options);
  try {
    const judged = {
      nodeSelector: `node-role.kubernetes.io/${POOL}`,
      maxUnavailable: options.maxUnavailable ?? 1,
      minAvailable: {},
    };
    const { cluster, temporal } = fleet;
    const observer = await lifetime.own(
      () => startObserver({ ...judged, kubeconfig: cluster.adminKubeconfig }),
      (started) => started.stop(),
    );
    const world = describeWorld(lifetime, fleet, observer);
    // First boots are no updates.
    await world.allUpdatedTo(fleet.firstConfig);
    await lifetime.own(
      () => startJudge({ ...judged, pool: POOL, cluster, temporal }),
      (judge) => hearVerdict(judge, options.broken),
    );
    return world;
  } catch (error) {
    const consoles = await Promise.all(fleet.machines.map(journalOf));
    throw Object.assign(error as Error, {
      message: `${(error as Error).message}\n${consoles.join('\n')}`,
    });
  }
}

/** For the message of a timeout. */
export async function journalOf(machine: Machine): Promise<string> {
  const { out, err } = await machine.run(
    ...['journalctl', '--boot', '--no-pager', '--lines=60', '--output=short'],
    ...['--unit=slipway-host.service', '--unit=kubelet.service'],
  );
  return `${machine.name}:\n${out}${err}`;
}

function describeWorld(lifetime: Lifetime, fleet: Fleet, { record }: Observer): World {
  const api = fleet.cluster.admin;
  const [machine] = fleet.machines;
  if (machine === undefined) throw new Error('a fleet has at least one machine');
  const node = (name: string): ObservedNode => {
    const found = record.node(name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  };
  const target = (): string => record.pool(POOL)?.target ?? '';
  const health = createHealth();
  const wait: World['until'] = (what, holds) =>
    health.watch(() => until(record, what, holds, PATIENCE_MS, lifetime.signal));
  const targetAfter = async (before: string): Promise<string> => {
    await wait(`pool ${POOL} has another config than ${before}`, () => target() !== before);
    return target();
  };
  const all = fleet.machines.map(({ name }) => name);
  return {
    lifetime,
    fleet,
    api,
    record,
    machine,
    machines: fleet.machines,
    node,
    target,
    roll: async (object) => {
      health.check();
      const before = target();
      await fleet.manifests.applyObject(object);
      return targetAfter(before);
    },
    unroll: async (name) => {
      health.check();
      const before = target();
      await api.call('DELETE', `/apis/${GROUP}/v1/machineconfigs/${name}`);
      return targetAfter(before);
    },
    allUpdatedTo: (config, nodes = all) =>
      wait(`${nodes.join(', ')} are on ${config} and in service`, () =>
        nodes.every((name) => {
          const { annotations, ready, unschedulable } = node(name);
          return (
            annotations[CURRENT_CONFIG] === config &&
            annotations[DESIRED_CONFIG] === config &&
            annotations[STATE] === 'Done' &&
            ready &&
            !unschedulable
          );
        }),
      ),
    failedAndBack: async (name, config) => {
      await wait(`${name} failed and is in service on ${config}`, () => {
        const { annotations, ready, unschedulable } = node(name);
        return (
          annotations[CURRENT_CONFIG] === config &&
          annotations[STATE] === 'Degraded' &&
          ready &&
          !unschedulable
        );
      });
      return node(name).annotations[REASON] ?? '';
    },
    untilCondition: (name, type, status) =>
      wait(`${type} of ${name} is ${status}`, () => {
        return record.machineConfigNode(name)?.conditions[type]?.status === status;
      }),
    atRest: async (name) => {
      health.check();
      await health.watch(() =>
        withDeadline(`the last update of ${name} ends`, lastUpdateEnded(fleet, name)),
      );
    },
    slipway: (...args) => runCli(fleet, args),
    retry: (name) => retryNode(() => runCli(fleet, ['node', 'retry', name])),
    until: wait,
  };
}

/** Later stories would wait minutes for the same thing, so they fail at once. */
function createHealth() {
  let trouble: string | undefined;
  return {
    watch: async (wait: () => Promise<void>): Promise<void> => {
      try {
        await wait();
      } catch (error) {
        trouble ??= (error as Error).message;
        throw error;
      }
    },
    /** @throws Error with the timeout of an earlier story */
    check: (): void => {
      if (trouble === undefined) return;
      throw new Error(`not tried, because of an earlier story: ${trouble}`);
    },
  };
}

async function lastUpdateEnded({ temporal }: Fleet, node: string): Promise<void> {
  try {
    await withUpdate(temporal, node, (update) => update.result());
  } catch (error) {
    // A machine without an update is at rest, too.
    const isEnd = error instanceof WorkflowFailedError || error instanceof WorkflowNotFoundError;
    if (!isEnd) throw error;
  }
}

async function runCli(fleet: Fleet, args: readonly string[]): Promise<CliRun> {
  const child = spawn(process.execPath, [join(repositoryRoot(), 'dist/cli/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...withoutSettings(), ...fleet.cliEnvironment },
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}
