/**
 * Keeps the taint `UpdateInProgress` on nodes that will be drained, so that evicted pods land on
 * updated nodes. Updates remove it with the uncordon.
 */

import { NODES } from '../../adapters/kube/resources';
import type { CacheEvent } from '../../adapters/kube/cache';
import type { Log } from '../../adapters/kube/transport';
import { driftCondition } from '../../core/drift';
import { failureName } from '../../core/errors';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { hasUpdateTaint } from '../../core/node/update-taint';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterPicture } from '../cluster-picture';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { dueTaints, taintsOf } from './due-taints';
import { FIELD_OWNER } from './show-status';

/** Each write reaches every watcher of Nodes, so writes are limited across pools. */
const WRITES = 10;
const PER_MS = 1_000;

/** One key: the nodes of all pools take turns. */
const ALL = 'taints';

interface TaintDeps {
  readonly picture: ClusterPicture;
  readonly writer: Pick<Writer, 'patch'>;
  readonly log: Log;
}

export class TaintController {
  readonly #deps: TaintDeps;
  readonly #queue: WorkQueue;
  /** As of the last run. */
  #inLine: ReadonlySet<string> = new Set();
  /** Nodes whose last write was refused come last. */
  readonly #refused = new Set<string>();

  constructor(deps: TaintDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#queue = new WorkQueue(
      {
        work: () => this.#sync(),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'tainting nodes failed; will try again');
        },
        ...{ quietMs: PER_MS, longestMs: PER_MS, backoff: { firstMs: PER_MS, maxMs: 60_000 } },
      },
      leading,
    );
    const subscriptions = this.#subscribe();
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    this.#queue.add(ALL);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #subscribe(): readonly (() => void)[] {
    const { nodes, machineConfigNodes, pools, policies } = this.#deps.picture;
    const look = (): void => {
      this.#queue.add(ALL);
    };
    return [
      nodes.subscribe((event) => {
        const { name } = event.object.metadata;
        const isAsItShould = hasUpdateTaint(event.object) === this.#inLine.has(name);
        if (!isAsItShould || !isSame(event, standing)) look();
      }),
      machineConfigNodes.subscribe((event) => {
        if (!isSame(event, hasReported)) look();
      }),
      pools.subscribe((event) => {
        if (!isSame(event, wishes)) look();
      }),
      policies.subscribe(look),
    ];
  }

  /** A refused write does not delay the other nodes. */
  async #sync(): Promise<void> {
    const due = this.#due();
    this.#forgetRefused(due);
    const fresh = due.filter(({ metadata }) => !this.#refused.has(metadata.name));
    const failures: unknown[] = [];
    for (const node of (fresh.length > 0 ? fresh : due).slice(0, WRITES)) {
      const { name } = node.metadata;
      try {
        await this.#write(node);
        this.#refused.delete(name);
      } catch (error) {
        if (failureName(error) === 'ApiUnavailable') throw error;
        this.#refused.add(name);
        failures.push(error);
      }
    }
    if (failures.length > 0 && fresh.length <= WRITES) throw failures[0];
    if (due.length > 0) this.#queue.addAfter(ALL, PER_MS);
  }

  #forgetRefused(due: readonly Node[]): void {
    const names = new Set(due.map(({ metadata }) => metadata.name));
    for (const name of this.#refused) if (!names.has(name)) this.#refused.delete(name);
  }

  #due(): readonly Node[] {
    const { due, inLine } = dueTaints(this.#deps.picture);
    this.#inLine = inLine;
    return due;
  }

  /** Exactly this version: the list of taints is written whole. */
  async #write(node: Node): Promise<void> {
    const { writer, log } = this.#deps;
    const { name, resourceVersion } = node.metadata;
    const isInLine = this.#inLine.has(name);
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    const patch = { metadata: version, spec: { taints: taintsOf(node, isInLine) } };
    try {
      await writer.patch(NODES, { name }, patch, { manager: FIELD_OWNER });
    } catch (error) {
      const failure = failureName(error);
      // The next run decides from the new state.
      if (failure === 'Conflict' || failure === 'ObjectNotFound') return;
      throw error;
    }
    log.debug({ node: name }, isInLine ? 'tainted node' : 'removed the taint of the node');
  }
}

function isSame<T>(event: CacheEvent<T>, part: (object: T) => unknown): boolean {
  if (event.type !== 'modified') return false;
  return JSON.stringify(part(event.previous)) === JSON.stringify(part(event.object));
}

/** Cordon and readiness change only the order, which each run computes. */
function standing({ metadata }: Node): unknown {
  return [metadata.labels, metadata.annotations, metadata.deletionTimestamp];
}

/** A failure of a node whose host never reported does not halt a rollout. */
function hasReported(known: MachineConfigNode): unknown {
  return driftCondition(known) !== undefined;
}

function wishes({ metadata, spec }: MachineConfigPool): unknown {
  return [spec, metadata.annotations, metadata.deletionTimestamp];
}
