/**
 * `npm run bench -- churn`: rolls one config after the other; every third is replaced in the middle
 * of its rollout. Shows whether memory or objects pile up.
 */

import type { ObservedStatus } from '../test/observer/observed';
import { startObserver } from '../test/observer/observer';
import type { ObserverProcess } from '../test/observer/own-process';
import type { RolloutRecord } from '../test/observer/record';
import { until } from '../test/observer/until';
import { describeViolation } from '../test/observer/violation';
import type { Stack } from '../tools/stack/stack';
import { firstAndLast, growthOf, grownIn, type Count, type Growth } from './growth';
import { startLiveMemory, type LiveMemory } from './live-memory';
import {
  disksOf,
  judgeOf,
  observed,
  residentMiB,
  startSimulatedPool,
  WORKERS,
  type Observed,
  type SimulatedPoolOptions,
} from './simulated-pool';

interface ChurnOptions extends SimulatedPoolOptions {
  readonly minutes: number;
}

interface ChurnResult extends Observed {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly nodeTimeSeconds: number;
  readonly minutes: number;
  readonly rounds: number;
  /** Rounds in which a second config replaced the first. */
  readonly retargeted: number;
  readonly updates: number;
  readonly rssMiB: Readonly<Record<string, Growth>>;
  /** Of Slipway's own processes, after a full garbage collection. */
  readonly collectedRssMiB: Readonly<Record<string, Growth>>;
  /** JavaScript heap and external memory, after a full garbage collection. */
  readonly liveMiB: Readonly<Record<string, Growth>>;
  readonly objects: Readonly<Record<string, Count>>;
  /** A sentence each; absent when the run was too short to judge. */
  readonly grown?: readonly string[];
  readonly disksCompared: number;
  readonly violations: readonly string[];
}

interface Sample {
  readonly rssMiB: Readonly<Record<string, number>>;
  readonly collectedRssMiB: Readonly<Record<string, number>>;
  readonly liveMiB: Readonly<Record<string, number>>;
  readonly objects: Readonly<Record<string, number>>;
}

const MIB = 1024 * 1024;
const POOL = 'worker';
/** No update ends for this long. */
const STUCK_MS = 600_000;
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';

const LISTS = {
  machineConfigs: '/apis/machineconfiguration.openshift.io/v1/machineconfigs',
  machineConfigNodes: '/apis/machineconfiguration.openshift.io/v1/machineconfignodes',
  events: '/api/v1/events',
  leases: '/apis/coordination.k8s.io/v1/leases',
} as const;

export async function runChurn(options: ChurnOptions): Promise<ChurnResult> {
  const memory = await startLiveMemory();
  try {
    const stack = await startSimulatedPool({ ...options, environment: memory.environment });
    return await runOn(stack, memory, options).finally(() => stack.stop());
  } finally {
    await memory.stop();
  }
}

async function runOn(
  stack: Stack,
  memory: LiveMemory,
  options: ChurnOptions,
): Promise<ChurnResult> {
  const judge = await judgeOf(stack, options.maxUnavailable);
  const observer = await startObserver({
    kubeconfig: stack.cluster.adminKubeconfig,
    nodeSelector: WORKERS,
  });
  try {
    return await churn(new Pool({ stack, memory, judge, record: observer.record }), options);
  } finally {
    observer.stop();
    await judge.stop();
  }
}

async function churn(pool: Pool, options: ChurnOptions): Promise<ChurnResult> {
  const { nodes, maxUnavailable, nodeTimeSeconds, minutes, onStep } = options;
  const endsAt = performance.now() + minutes * 60_000;
  const samples: Sample[] = [];
  let retargeted = 0;
  while (samples.length === 0 || performance.now() < endsAt) {
    const round = samples.length + 1;
    await pool.change(`round ${round}`);
    if (round % 3 === 0) {
      await pool.untilSomeAreOnTarget();
      await pool.change(`round ${round}, changed again`);
      retargeted += 1;
    }
    const seen = await pool.untilAtRest();
    samples.push(await pool.sample());
    onStep(`${round} rounds, ${seen} violations, ${JSON.stringify(samples.at(-1))}`);
  }
  const { violations, ...seen } = await pool.judgement();
  const rounds = samples.length;
  const rssMiB = growthOf(samples.map((sample) => sample.rssMiB));
  const collectedRssMiB = growthOf(samples.map((sample) => sample.collectedRssMiB));
  const liveMiB = growthOf(samples.map((sample) => sample.liveMiB));
  const objects = firstAndLast(samples.map((sample) => sample.objects));
  const grown = grownIn({ rounds, minutes, collectedRssMiB, liveMiB, objects });
  return {
    ...{ nodes, maxUnavailable, nodeTimeSeconds, minutes, rounds, retargeted },
    ...{ updates: pool.updates, rssMiB, collectedRssMiB, liveMiB, objects },
    ...(grown === undefined ? {} : { grown }),
    ...seen,
    violations,
  };
}

interface PoolParts {
  readonly stack: Stack;
  readonly memory: LiveMemory;
  readonly record: RolloutRecord;
  readonly judge: ObserverProcess;
}

class Pool {
  updates = 0;
  #disksCompared = 0;
  readonly #brokenDisks: string[] = [];
  readonly #boots = new Map<string, string>();

  constructor(private readonly parts: PoolParts) {
    const { record } = parts;
    for (const { name, bootID } of record.nodes) this.#boots.set(name, bootID);
    record.onChange(() => this.#countBoots());
  }

  /** Resolves when the pool has the new config. */
  async change(content: string): Promise<void> {
    const before = this.#status()?.target;
    await this.parts.stack.manifests.apply(configWith(content));
    await this.#until(`a config with ${content}`, () => this.#status()?.target !== before);
  }

  async untilSomeAreOnTarget(): Promise<void> {
    const quarter = Math.ceil(this.parts.record.nodes.length / 4);
    await this.#until('a quarter is updated', () => this.#onTarget() >= quarter);
  }

  async untilAtRest(): Promise<number> {
    const { record, judge } = this.parts;
    await this.#until('all nodes are updated', () => {
      const status = this.#status();
      const isSaid = status?.counts['updatedMachineCount'] === record.nodes.length;
      return (
        isSaid && status?.current === status?.target && this.#onTarget() === record.nodes.length
      );
    });
    const { violations } = await judge.rest();
    const { disksCompared, broken } = await disksOf(this.parts.stack);
    this.#disksCompared += disksCompared;
    this.#brokenDisks.push(...broken);
    return violations + this.#brokenDisks.length;
  }

  async sample(): Promise<Sample> {
    const counts = Object.entries(LISTS).map(async ([name, path]) => {
      const { items } = await this.parts.stack.cluster.admin.call<{ items: readonly unknown[] }>(
        'GET',
        path,
      );
      return [name, items.length] as const;
    });
    return {
      objects: Object.fromEntries(await Promise.all(counts)),
      rssMiB: residentMiB(this.parts.stack),
      ...(await this.#collected()),
    };
  }

  /**
   * Of Slipway's processes and simulated hosts. Temporal grows by design: it keeps closed
   * workflows.
   */
  async #collected(): Promise<Pick<Sample, 'collectedRssMiB' | 'liveMiB'>> {
    const liveMiB: Record<string, number> = {};
    const own = this.parts.stack.product.running();
    for (const { name, pid } of own) {
      liveMiB[name] = Math.round(((await this.parts.memory.collect(pid)) / MIB) * 10) / 10;
    }
    const resident = residentMiB(this.parts.stack);
    const collectedRssMiB = Object.fromEntries(own.map(({ name }) => [name, resident[name] ?? 0]));
    return { collectedRssMiB, liveMiB };
  }

  async judgement(): Promise<Observed & Pick<ChurnResult, 'disksCompared' | 'violations'>> {
    const { judge } = this.parts;
    return {
      ...observed(await judge.rest()),
      disksCompared: this.#disksCompared,
      violations: [...judge.violations.map(describeViolation), ...this.#brokenDisks],
    };
  }

  #status(): ObservedStatus | undefined {
    return this.parts.record.pool(POOL);
  }

  #onTarget(): number {
    const target = this.#status()?.target;
    return this.parts.record.nodes.filter(
      ({ unschedulable, annotations }) => !unschedulable && annotations[CURRENT_CONFIG] === target,
    ).length;
  }

  #countBoots(): void {
    // The record would itself grow.
    for (const { node } of this.parts.record.changes.splice(0)) {
      if (this.#boots.get(node.name) === node.bootID) continue;
      this.#boots.set(node.name, node.bootID);
      this.updates += 1;
    }
  }

  #until(what: string, holds: () => boolean): Promise<void> {
    return until(this.parts.record, what, holds, STUCK_MS);
  }
}

function configWith(content: string): string {
  return `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 50-worker-churn
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition: { version: 3.4.0 }
    storage:
      files:
        - path: /etc/churn
          contents: { source: 'data:,${encodeURIComponent(content)}' }
`;
}
