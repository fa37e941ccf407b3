/** The boundaries between the phases of an update, as somebody outside sees them come. */

import { endOf, linesOf } from '../../e2e/support/logs';
import type { World } from '../../e2e/support/world';
import { CORDONED_BY, CURRENT_CONFIG, DESIRED_CONFIG, POOL } from '../../e2e/support/world';

/** In the order of an update; each is where the phase has just begun. */
export const BOUNDARIES = [
  'Preparing',
  'WaitingForSlot',
  'Cordoning',
  'Draining',
  'Applying',
  'Rebooting',
  'Verifying',
  'Completing',
] as const;
export type Boundary = (typeof BOUNDARIES)[number];

type Logging = 'host' | 'cluster';

/** Looks from now on whether a node has come to the boundary on its way to the config. */
export class BoundaryWatch {
  readonly #boots: ReadonlyMap<string, string>;
  readonly #logs: Readonly<Record<Logging, { readonly file: string; readonly from: number }>>;

  constructor(
    private readonly world: World,
    private readonly config: string,
  ) {
    this.#boots = new Map(world.record.nodes.map(({ name, bootID }) => [name, bootID]));
    const logFrom = (name: string): { readonly file: string; readonly from: number } => {
      const file = world.stack.product.logFile(name);
      return { file, from: endOf(file) };
    };
    this.#logs = { host: logFrom(`host-worker/${POOL}`), cluster: logFrom('cluster-worker') };
  }

  /** Nodes that are at the boundary, or, for one that is short, have just passed it. */
  at(boundary: Boundary): readonly string[] {
    return this.world.workers.filter((node) => this.#isAt(node, boundary));
  }

  /** Every node is on the config and serves. */
  isOver(nodes: readonly string[] = this.world.workers): boolean {
    return nodes.every((name) => {
      const { annotations, ready, unschedulable } = this.world.node(name);
      return annotations[CURRENT_CONFIG] === this.config && ready && !unschedulable;
    });
  }

  #isAt(name: string, boundary: Boundary): boolean {
    const { annotations, ready, bootID, unschedulable } = this.world.node(name);
    const isOurs = annotations[CORDONED_BY] !== undefined;
    const targeted = annotations[DESIRED_CONFIG] === this.config;
    const done = annotations[CURRENT_CONFIG] === this.config;
    const rebooted = bootID !== this.#boots.get(name);
    switch (boundary) {
      case 'Preparing':
        return !targeted;
      case 'WaitingForSlot':
        return !targeted && this.#isLogged('host', name, 'update prepared');
      case 'Cordoning':
        return isOurs && unschedulable && targeted && !rebooted;
      case 'Draining':
        return targeted && this.#isUnderWay(name, 'Drained');
      case 'Applying':
        return targeted && this.#isUnderWay(name, 'AppliedFiles');
      case 'Rebooting':
        return targeted && !done && !ready;
      case 'Verifying':
        return targeted && !done && rebooted && ready;
      case 'Completing':
        return done && rebooted && !this.#isLogged('cluster', name, 'updated node');
    }
  }

  #isUnderWay(name: string, condition: string): boolean {
    return this.world.record.machineConfigNode(name)?.conditions[condition]?.status === 'Unknown';
  }

  #isLogged(by: Logging, node: string, msg: string): boolean {
    const { file, from } = this.#logs[by];
    return linesOf(file, from).some(
      (line) => line.msg === msg && line['node'] === node && line['config'] === this.config,
    );
  }
}
