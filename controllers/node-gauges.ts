/** Gauges by node, computed at scrape time: too much for every change of a pool. */

import { Gauge, type Registry } from 'prom-client';
import { ANNOTATION } from '../core/names';
import { annotationOf, isDegraded } from '../core/node/predicates';
import type { Node } from '../core/node/types';
import type { Membership } from '../core/pool/membership';

interface NodeGauges {
  observe(members: Membership['members']): void;
}

export function createNodeGauges(registry: Registry): NodeGauges {
  const registers = [registry];
  let members: Membership['members'] = new Map();
  new Gauge({
    name: 'mco_state',
    help: '1 per node, with what its state annotation says; the reason only of a failed one',
    labelNames: ['node', 'pool', 'state', 'reason'],
    registers,
    collect() {
      this.reset();
      for (const [pool, nodes] of members) {
        for (const node of nodes) this.set({ pool, ...stateLabels(node) }, 1);
      }
    },
  });
  new Gauge({
    name: 'mcc_drain_err',
    help: '1 for a node whose drain has timed out, until it is updated',
    labelNames: ['node'],
    registers,
    collect() {
      this.reset();
      for (const node of [...members.values()].flat()) {
        if (annotationOf(node, ANNOTATION.DRAIN_TIMED_OUT) === undefined) continue;
        this.set({ node: node.metadata.name }, 1);
      }
    },
  });
  return {
    observe: (seen) => {
      members = seen;
    },
  };
}

/** The pool's condition has the whole reason. */
const REASON_LENGTH = 120;

function stateLabels(node: Node): { node: string; state: string; reason: string } {
  const reason = isDegraded(node) ? annotationOf(node, ANNOTATION.REASON) : undefined;
  return {
    node: node.metadata.name,
    state: annotationOf(node, ANNOTATION.STATE) ?? '',
    reason: (reason ?? '').slice(0, REASON_LENGTH),
  };
}
