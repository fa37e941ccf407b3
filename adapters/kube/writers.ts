/** One request per write. The reply goes into the cache at once. */

import { fail, failureName } from '../../core/errors';
import type { MachineConfigNode, Node, NodeTaint } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import type { MachineConfigPool } from '../../core/pool/types';
import type { WatchCache } from './cache';
import type { KubeClient } from './client';
import { MACHINE_CONFIG_NODES, MACHINE_CONFIG_POOLS, NODES } from './resources';

/** After so many attempts the caller retries. */
const ATTEMPTS = 5;

/** `null` removes an annotation. */
export interface NodePatch {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly unschedulable?: boolean;
  readonly taints?: readonly NodeTaint[];
}

export class NodeWriter {
  constructor(
    readonly client: KubeClient,
    readonly cache: WatchCache<Node>,
    readonly fieldManager: string,
  ) {}

  /**
   * Decides on the newest known Node and patches it if it is still the newest; after a conflict it
   * reads the Node and decides again. A decision not to write, or to refuse, is made on a fresh
   * read.
   *
   * @param confirm - called between the decision and each write
   * @throws `ObjectNotFound`, `Conflict`, and the errors of `decide` and `confirm`
   */
  async change(
    name: string,
    decide: (node: Node) => NodePatch | undefined,
    confirm?: () => Promise<void>,
  ): Promise<Node> {
    const known = this.cache.get(name);
    let node = known !== undefined && wants(decide, known) ? known : await this.read(name);
    for (let attempt = 1; ; attempt += 1) {
      const change = decide(node);
      if (change === undefined) return node;
      await confirm?.();
      try {
        const patched = await this.client.patch(NODES, { name }, patchOf(node, change), {
          fieldManager: this.fieldManager,
        });
        this.cache.absorb(patched);
        return patched;
      } catch (error) {
        if (failureName(error) !== 'Conflict' || attempt >= ATTEMPTS) throw error;
        node = await this.read(name);
      }
    }
  }

  async read(name: string): Promise<Node> {
    const node = await this.client.get(NODES, { name });
    this.cache.absorb(node);
    return node;
  }

  /** Into the cache, when its age is unknown. @throws `ApiUnavailable` */
  async refresh(): Promise<void> {
    this.cache.takeOver(await this.client.list(NODES));
  }
}

function wants(decide: (node: Node) => NodePatch | undefined, known: Node): boolean {
  try {
    return decide(known) !== undefined;
  } catch {
    // Decided again on a fresh Node.
    return false;
  }
}

function patchOf(node: Node, change: NodePatch): object {
  const { resourceVersion } = node.metadata;
  if (resourceVersion === undefined) {
    throw fail('Conflict', `node ${node.metadata.name} has no resourceVersion to patch against`);
  }
  return {
    metadata: {
      resourceVersion,
      ...(change.annotations === undefined ? {} : { annotations: change.annotations }),
    },
    ...specOf(change),
  };
}

function specOf({ unschedulable, taints }: NodePatch): { readonly spec?: object } {
  if (unschedulable === undefined && taints === undefined) return {};
  return {
    spec: {
      // An absent field means schedulable.
      ...(unschedulable === undefined ? {} : { unschedulable: unschedulable ? true : null }),
      ...(taints === undefined ? {} : { taints }),
    },
  };
}

interface AppliedStatus {
  readonly observedGeneration: number;
  readonly configVersion: { readonly desired: string; readonly current?: string };
  readonly conditions: readonly Condition[];
}

export class MachineConfigNodeWriter {
  constructor(
    readonly client: KubeClient,
    readonly cache: WatchCache<MachineConfigNode>,
    readonly fieldManager: string,
  ) {}

  /**
   * By server-side apply; the object is owned by its Node.
   *
   * @param unchangedSince - the resourceVersion that the object must still have
   * @throws `Conflict` when it has another one
   */
  async applySpec(
    owner: { readonly name: string; readonly uid: string },
    spec: MachineConfigNode['spec'],
    unchangedSince?: string,
  ): Promise<MachineConfigNode> {
    const { name, uid } = owner;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
    const metadata = {
      name,
      ...(uid === '' ? {} : { ownerReferences }),
      ...(unchangedSince === undefined ? {} : { resourceVersion: unchangedSince }),
    };
    return this.#absorbed(
      await this.client.apply(
        MACHINE_CONFIG_NODES,
        { metadata, spec },
        { fieldManager: this.fieldManager },
      ),
    );
  }

  /**
   * Whatever else is written meanwhile stays.
   *
   * @throws `ObjectNotFound`
   */
  async annotate(
    name: string,
    annotations: Readonly<Record<string, string>>,
  ): Promise<MachineConfigNode> {
    return this.#absorbed(
      await this.client.patch(
        MACHINE_CONFIG_NODES,
        { name },
        { metadata: { annotations } },
        { fieldManager: this.fieldManager },
      ),
    );
  }

  async read(name: string): Promise<MachineConfigNode> {
    return this.#absorbed(await this.client.get(MACHINE_CONFIG_NODES, { name }));
  }

  /**
   * @param unchangedSince - the resourceVersion that the object must still have
   * @throws `Conflict` when it has another one
   */
  async applyStatus(
    name: string,
    status: AppliedStatus,
    unchangedSince?: string,
  ): Promise<MachineConfigNode> {
    const version = unchangedSince === undefined ? {} : { resourceVersion: unchangedSince };
    return this.#absorbed(
      await this.client.apply(
        MACHINE_CONFIG_NODES,
        { metadata: { name, ...version }, status },
        { fieldManager: this.fieldManager, subresource: 'status' },
      ),
    );
  }

  #absorbed(object: MachineConfigNode): MachineConfigNode {
    this.cache.absorb(object);
    return object;
  }
}

/** `null` removes an annotation. */
interface PoolPatch {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly paused?: boolean;
}

export class PoolWriter {
  constructor(
    readonly client: KubeClient,
    readonly cache: Pick<WatchCache<MachineConfigPool>, 'absorb'>,
    readonly fieldManager: string,
  ) {}

  /**
   * Patches the pool if it is unchanged. Always reads, because a person's change of a moment ago
   * counts.
   *
   * @throws `ObjectNotFound`, `Conflict`, and the errors of `decide`
   */
  async change(
    name: string,
    decide: (pool: MachineConfigPool) => Promise<PoolPatch | undefined>,
  ): Promise<MachineConfigPool> {
    for (let attempt = 1; ; attempt += 1) {
      const pool = await this.client.get(MACHINE_CONFIG_POOLS, { name });
      const change = await decide(pool);
      if (change === undefined) return pool;
      const { resourceVersion } = pool.metadata;
      const patch = {
        metadata: { resourceVersion, annotations: change.annotations },
        ...(change.paused === undefined ? {} : { spec: { paused: change.paused } }),
      };
      try {
        const how = { fieldManager: this.fieldManager };
        const patched = await this.client.patch(MACHINE_CONFIG_POOLS, { name }, patch, how);
        this.cache.absorb(patched);
        return patched;
      } catch (error) {
        if (failureName(error) !== 'Conflict' || attempt >= ATTEMPTS) throw error;
      }
    }
  }
}
