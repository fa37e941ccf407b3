/** A whole Slipway, an observer that judges it, and the tools of a person: kubectl and the CLI. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ApiClient } from '../../../tools/cluster';
import type { Observer } from '../../observer/observer';
import { startObserver } from '../../observer/observer';
import type { ObserverProcess } from '../../observer/own-process';
import type { ObservedNode } from '../../observer/observed';
import type { RolloutRecord } from '../../observer/record';
import { until } from '../../observer/until';
import { repositoryRoot } from '../../../tools/repository-root';
import { withoutSettings } from '../../../tools/stack/person-settings';
import type { Stack, StackOptions } from '../../../tools/stack/stack';
import { startStack } from '../../../tools/stack/stack';
import type { Workload } from '../../../tools/stack/workloads';
import { messageOf } from '../../../core/errors';
import { askUntil, retryNode, type CliRun } from './ask-until';
import { judgeDisks } from './disk-at-rest';
import { explain } from './explain';
import { hearVerdict, startJudge } from './verdict';

/** Time limit of one story; a wait inside it that hangs fails earlier. */
export const STORY_MS = 360_000;
export const START_MS = 240_000;
/** Longer than the judgement at rest waits, so that its message is the one reported. */
export const STOP_MS = 180_000;
/** A command that runs longer hangs. */
const CLI_PATIENCE_MS = 180_000;

export const POOL = 'worker';
export const MAX_UNAVAILABLE = 2;

const GROUP = 'machineconfiguration.openshift.io';
const POOLS = `/apis/${GROUP}/v1/machineconfigpools`;
export const CURRENT_CONFIG = `${GROUP}/currentConfig`;
export const DESIRED_CONFIG = `${GROUP}/desiredConfig`;
export const STATE = `${GROUP}/state`;
export const REASON = `${GROUP}/reason`;
export const CORDONED_BY = 'slipway.dev/cordoned-by';

export interface World {
  readonly stack: Stack;
  readonly api: ApiClient;
  readonly record: RolloutRecord;
  /** Judges in its own process; its findings at the end fail the suite. */
  readonly judge: ObserverProcess;
  readonly workers: readonly string[];
  /** Runs `slipway` as a child process; `env` is added to the environment. */
  slipway(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<CliRun>;
  /** Runs `slipway` and presses Ctrl-C when this is on standard output. */
  slipwayUntilCtrlC(args: readonly string[], shown: string): Promise<CliRun>;
  /**
   * Repeats the command until it answers as wanted. A rollout learns of the end of an update after the last write
   * to its Node, so a test that reads the Node may be ahead of the rollout.
   *
   * @throws Error with the last answer on timeout
   */
  slipwayUntil(args: readonly string[], isWanted: (run: CliRun) => boolean): Promise<CliRun>;
  retry(node: string): Promise<CliRun>;
  node(name: string): ObservedNode;
  target(): string;
  /** Applies a MachineConfig and returns the name of the rendered config with it. */
  roll(object: object): Promise<string>;
  targetAfter(before: string): Promise<string>;
  cordon(node: string, unschedulable: boolean): Promise<void>;
  /** Resolves when every worker has the config, verified and in service. */
  allUpdatedTo(config: string, nodes?: readonly string[]): Promise<void>;
  /** Budgets of the workloads: forbid every eviction, or restore them. */
  allowEvictions(allowed: boolean): Promise<void>;
  until(what: string, holds: () => boolean): Promise<void>;
  /** @throws Error with all findings of the judge, or with every disk at rest that differs from its config */
  stop(): Promise<void>;
}

/** Reboots in half a second, applies in a fifth: only the order matters. */
const DEFAULTS: WorldOptions = {
  nodes: { master: 3, worker: 6 },
  zones: 3,
  maxUnavailable: MAX_UNAVAILABLE,
  policy: { canary: { nodes: 1 }, failureThreshold: 2, verify: { readySeconds: 1 } },
  simulation: {
    stageSeconds: 0.2,
    applySeconds: 0.2,
    rebootSeconds: 0.5,
    jitter: 0.2,
    failures: [],
  },
  workloads: [
    { app: 'cart', replicas: 4, minAvailable: 3, terminationMs: 200 },
    { app: 'frontend', replicas: 8, minAvailable: 6, terminationMs: 200 },
  ],
  temporalUi: false,
};

interface WorldOptions extends StackOptions {
  /** Time limit for one wait in a story. */
  readonly patienceMs?: number;
}

/** Starts it, and waits until the workloads are up: from then on their budgets are judged. */
export async function startWorld(options: Partial<WorldOptions> = {}): Promise<World> {
  const { workloads, patienceMs, ...rest } = { ...DEFAULTS, audit: true, ...options };
  const stack = await startStack({ ...rest, workloads });
  const stops: (() => Promise<void> | void)[] = [() => stack.stop()];
  try {
    const judged = {
      nodeSelector: `node-role.kubernetes.io/${POOL}`,
      maxUnavailable: Number(rest.maxUnavailable),
      minAvailable: Object.fromEntries(
        workloads.map(({ app, minAvailable }) => [app, minAvailable]),
      ),
    };
    const { cluster, temporal } = stack;
    const observer = await startObserver({ ...judged, kubeconfig: cluster.adminKubeconfig });
    stops.push(() => observer.stop());
    const { record } = observer;
    const pods = workloads.reduce((sum, { replicas }) => sum + replicas, 0);
    await until(
      record,
      `all ${pods} pods of the workloads are ready`,
      () => record.pods.filter(({ ready }) => ready).length === pods,
    );
    const judge = await startJudge({ ...judged, pool: POOL, cluster, temporal });
    // Ends in opposite order: disks are at rest when the judge has seen the pool at rest.
    stops.push(
      () => judgeDisks(cluster.admin, stack.hostRoot),
      () => hearVerdict(judge),
    );
    return describeWorld({ stack, observer, judge, workloads, stops, patienceMs });
  } catch (error) {
    await endAll(stops);
    throw error;
  }
}

/** Stops all of them, also when one fails; reports the first failure. */
async function endAll(stops: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const stop of [...stops].reverse()) {
    try {
      await stop();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

interface Parts {
  readonly stack: Stack;
  readonly observer: Observer;
  readonly judge: ObserverProcess;
  readonly workloads: readonly Workload[];
  readonly stops: readonly (() => Promise<void> | void)[];
  readonly patienceMs: number | undefined;
}

function describeWorld(parts: Parts): World {
  const { stack, observer, judge, workloads, stops, patienceMs } = parts;
  const { record } = observer;
  const api = stack.cluster.admin;
  const workers = stack.nodesOf(POOL);
  const node = (name: string): ObservedNode => {
    const found = record.node(name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  };
  const target = (): string => record.pool(POOL)?.target ?? '';
  const slipway: World['slipway'] = (args, env) => runCli(stack, args, env);
  const wait: World['until'] = async (what, holds) => {
    try {
      await until(record, what, holds, patienceMs);
    } catch (error) {
      const why = await explain({ api, record, slipway, stack });
      throw new Error(`${messageOf(error)}\n${why}`, { cause: error });
    }
  };
  const targetAfter = async (before: string): Promise<string> => {
    await wait(`pool ${POOL} has another config than ${before}`, () => {
      const { status, message } = record.pool(POOL)?.conditions['RenderDegraded'] ?? {};
      if (status === 'True') throw new Error(message);
      return target() !== before;
    });
    return target();
  };
  return {
    stack,
    api,
    record,
    judge,
    workers,
    slipway,
    slipwayUntilCtrlC: (args, shown) => runCli(stack, args, {}, shown),
    slipwayUntil: (args, isWanted) => askUntil(() => slipway(args), isWanted),
    retry: (name) => retryNode(() => slipway(['node', 'retry', name])),
    node,
    target,
    targetAfter,
    roll: async (object) => {
      const before = target();
      await stack.manifests.applyObject(object);
      return targetAfter(before);
    },
    cordon: async (name, unschedulable) => {
      await api.call('PATCH', `/api/v1/nodes/${name}`, { spec: { unschedulable } });
      await wait(`the cordon of ${name} is seen`, () => node(name).unschedulable === unschedulable);
    },
    allUpdatedTo: (config, nodes = workers) =>
      wait(`${nodes.join(', ')} are on ${config} and in service`, () =>
        nodes.every((name) => isUpdatedTo(node(name), config)),
      ),
    allowEvictions: (allowed) => allowEvictions(api, workloads, allowed),
    until: wait,
    stop: () => endAll(stops),
  };
}

function isUpdatedTo({ annotations, ready, unschedulable }: ObservedNode, config: string): boolean {
  return (
    annotations[CURRENT_CONFIG] === config &&
    annotations[DESIRED_CONFIG] === config &&
    annotations[STATE] === 'Done' &&
    ready &&
    !unschedulable
  );
}

async function allowEvictions(
  api: ApiClient,
  workloads: readonly Workload[],
  allowed: boolean,
): Promise<void> {
  for (const { app, minAvailable, replicas } of workloads) {
    await api.call('PATCH', `/apis/policy/v1/namespaces/shop/poddisruptionbudgets/${app}`, {
      spec: { minAvailable: allowed ? minAvailable : replicas },
    });
  }
}

async function runCli(
  stack: Stack,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  ctrlCAt?: string,
): Promise<CliRun> {
  const child = spawn(
    process.execPath,
    [join(repositoryRoot(), 'dist', 'cli', 'main.js'), ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...withoutSettings(), ...stack.cliEnvironment, ...env },
    },
  );
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    out.push(chunk);
    if (ctrlCAt !== undefined && Buffer.concat(out).includes(ctrlCAt)) child.kill('SIGINT');
  });
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const overdue = setTimeout(() => child.kill('SIGKILL'), CLI_PATIENCE_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(overdue);
  const run = { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
  if (code === null) throw new Error(`slipway ${args.join(' ')} did not end\n${run.out}${run.err}`);
  return run;
}

/** The pool in the API server, for fields that the observer does not keep. */
export async function readPool(api: ApiClient, name: string): Promise<PoolObject> {
  return api.call<PoolObject>('GET', `${POOLS}/${name}`);
}

interface PoolObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly paused?: boolean };
  readonly status: {
    readonly machineCount: number;
    readonly updatedMachineCount: number;
    readonly degradedMachineCount: number;
    readonly unavailableMachineCount: number;
  };
}
