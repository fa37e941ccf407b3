import type { World } from '../../e2e/support/world';
import { CURRENT_CONFIG, DESIRED_CONFIG } from '../../e2e/support/world';
import { type UpdateOf, withOrders } from './orders';
import { PATIENCE_MS } from './strike';

/** In the order of an update with a reboot; a boundary is the moment at which its phase begins. */
export const BOUNDARIES = [
  'Preparing',
  'WaitingForGrant',
  'Cordoning',
  'Draining',
  'Applying',
  'Rebooting',
  'Verifying',
  'Completing',
] as const;
export type Boundary = (typeof BOUNDARIES)[number];

/** For updates that reload or restart services, from the cordon on. */
export const SERVICE_BOUNDARIES = ['Applying', 'Reloading', 'Verifying'] as const;
export type AnyBoundary = Boundary | (typeof SERVICE_BOUNDARIES)[number];

/** By phase. */
const ORDERED: Readonly<Record<AnyBoundary, readonly string[]>> = {
  Preparing: ['prepareUpdate'],
  WaitingForGrant: ['takeOutOfService'],
  Cordoning: ['takeOutOfService'],
  Draining: ['drainNode'],
  Applying: ['applyUpdate'],
  Reloading: ['performServiceActions'],
  Rebooting: ['armReboot', 'verifyUpdate'],
  Verifying: ['awaitReturn'],
  Completing: ['commitUpdate', 'completeNode'],
};

type IsWanted = (node: string) => boolean;
const ANY: IsWanted = () => true;

/**
 * A node is at a boundary when its Node shows the phase and its running update waits for what
 * belongs to it.
 */
export class BoundaryWatch {
  readonly #boots: ReadonlyMap<string, string>;

  constructor(
    private readonly world: World,
    private readonly config: string,
    /** False = services are reloaded or restarted instead. */
    private readonly reboots = true,
  ) {
    this.#boots = new Map(world.record.nodes.map(({ name, bootID }) => [name, bootID]));
  }

  at(boundary: AnyBoundary): Promise<readonly string[]> {
    return withOrders(this.world.stack.temporal, (updateOf) => this.#at(boundary, ANY, updateOf));
  }

  /** @throws Error when all nodes have passed the boundary */
  async reach(boundary: AnyBoundary, isWanted = ANY): Promise<string> {
    const node = await this.next(boundary, isWanted);
    if (node === undefined) throw new Error(`all nodes are done, and none was seen at ${boundary}`);
    return node;
  }

  next(boundary: AnyBoundary, isWanted = ANY): Promise<string | undefined> {
    return withOrders(this.world.stack.temporal, async (updateOf) => {
      const deadline = performance.now() + PATIENCE_MS;
      while (performance.now() < deadline) {
        await this.world.until(
          `a node is at ${boundary}`,
          () => this.#shown(boundary, isWanted).length > 0 || this.isOver(),
        );
        const [node] = await this.#at(boundary, isWanted, updateOf);
        if (node !== undefined) return node;
        if (this.isOver()) return undefined;
      }
      throw new Error(`no update to ${this.config} was seen at ${boundary}`);
    });
  }

  isOver(nodes: readonly string[] = this.world.workers): boolean {
    return nodes.every((name) => {
      const { annotations, ready, unschedulable } = this.world.node(name);
      return annotations[CURRENT_CONFIG] === this.config && ready && !unschedulable;
    });
  }

  async #at(
    boundary: AnyBoundary,
    isWanted: IsWanted,
    updateOf: UpdateOf,
  ): Promise<readonly string[]> {
    const shown = this.#shown(boundary, isWanted);
    const updates = await Promise.all(shown.map(updateOf));
    const there = shown.filter((_, index) => {
      const update = updates[index];
      return update?.config === this.config && isIn(boundary, update.steps);
    });
    // The cluster may have changed while Temporal was asked.
    return there.filter((node) => this.#isShown(node, boundary));
  }

  #shown(boundary: AnyBoundary, isWanted: IsWanted): readonly string[] {
    return this.world.workers.filter((node) => isWanted(node) && this.#isShown(node, boundary));
  }

  #isShown(name: string, boundary: AnyBoundary): boolean {
    const { annotations, ready, bootID } = this.world.node(name);
    const targeted = annotations[DESIRED_CONFIG] === this.config;
    const done = annotations[CURRENT_CONFIG] === this.config;
    const rebooted = bootID !== this.#boots.get(name);
    switch (boundary) {
      case 'Preparing':
      case 'WaitingForGrant':
        return !targeted;
      case 'Cordoning':
      case 'Draining':
      case 'Applying':
        return targeted && !rebooted && ready;
      case 'Reloading':
        return targeted && !done && !rebooted && ready;
      case 'Rebooting':
        return targeted && !done && !ready;
      case 'Verifying':
        return targeted && !done && rebooted === this.reboots && ready;
      case 'Completing':
        return targeted && rebooted && ready && !this.#isSaidUpdated(name);
    }
  }

  #isSaidUpdated(name: string): boolean {
    const said = this.world.record.machineConfigNode(name);
    return said?.current === this.config && said.conditions['Updated']?.status === 'True';
  }
}

function isIn(boundary: AnyBoundary, steps: readonly string[]): boolean {
  return steps.some((step) => ORDERED[boundary].includes(step));
}
