/** Under MCO's names where MCO has one. Labels are few and bounded. */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CertificateExpiry } from '../core/certificates';
import { ANNOTATION } from '../core/names';
import { annotationOf, isDegraded, isUnavailable, isUpdatedTo } from '../core/node/predicates';
import type { Node } from '../core/node/types';
import { poolsForNode, type Membership } from '../core/pool/membership';
import type { MachineConfigPool } from '../core/pool/types';
import { createNodeGauges } from './node-gauges';
import { createPoolGauges } from './pool-gauges';
import type { KnownOfPools } from './pool-progress';

const PREFIX = 'slipway_controllers';

export interface ControllerMetrics {
  readonly registry: Registry;
  poolsObserved(
    pools: readonly MachineConfigPool[],
    nodes: readonly Node[],
    membership: Membership,
    known?: KnownOfPools,
  ): void;
  certificatesObserved(expiries: readonly CertificateExpiry[]): void;
  rendered(pool: string, outcome: RenderOutcome, seconds: number): void;
  osImageOverridden(pool: string, overridden: boolean): void;
  rolloutWoken(pool: string): void;
  setLeader(leads: boolean): void;
}

/** `created`: a new config. */
export type RenderOutcome = 'created' | 'unchanged' | 'degraded' | 'failed';

/** @param registry - a new one per process */
export function createMetrics(registry = new Registry()): ControllerMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
    new Gauge({ name, help, labelNames, registers });
  const machines = gauge('mco_machine_count', 'Nodes in the pool', ['pool']);
  const updated = gauge('mco_updated_machine_count', 'Nodes on the config of the pool', ['pool']);
  const degraded = gauge('mco_degraded_machine_count', 'Nodes that have failed', ['pool']);
  const unavailable = gauge('mco_unavailable_machine_count', 'Nodes not available', ['pool']);
  const alert = gauge('mcc_pool_alert', '1 for a node whose pools contradict each other', ['node']);
  const leader = gauge(`${PREFIX}_leader`, '1 while this replica leads', []);
  const renders = new Counter({
    name: `${PREFIX}_renders_total`,
    help: 'Renders of a pool, by outcome',
    labelNames: ['pool', 'outcome'],
    registers,
  });
  const renderSeconds = new Histogram({
    name: `${PREFIX}_render_duration_seconds`,
    help: 'From the look at the MachineConfigs to the written pool',
    labelNames: ['pool'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const wakes = new Counter({
    name: `${PREFIX}_rollout_wakes_total`,
    help: 'How often the rollout of a pool was started, or told to look again',
    labelNames: ['pool'],
    registers,
  });
  const poolGauges = createPoolGauges(registry);
  const nodeGauges = createNodeGauges(registry);
  const overrides = createOverrides(registry);
  const certificates = createExpiries(registry);
  leader.set(0);
  return {
    registry,
    poolsObserved: (pools, nodes, membership, known) => {
      nodeGauges.observe(membership.members);
      overrides.keepOnly(pools.map(({ metadata }) => metadata.name));
      poolGauges.observe(pools, nodes, membership, known);
      for (const metric of [machines, updated, degraded, unavailable, alert]) metric.reset();
      for (const pool of pools) {
        const labels = { pool: pool.metadata.name };
        const members = membership.members.get(pool.metadata.name) ?? [];
        const target = pool.spec.configuration?.name;
        machines.set(labels, members.length);
        updated.set(labels, members.filter((node) => isUpdatedTo(node, target)).length);
        degraded.set(labels, members.filter(isCountedDegraded).length);
        unavailable.set(labels, members.filter(isUnavailable).length);
      }
      for (const node of contradictory(pools, membership)) alert.set({ node }, 1);
    },
    certificatesObserved: certificates.observe,
    rendered: (pool, outcome, seconds) => {
      renders.inc({ pool, outcome });
      renderSeconds.observe({ pool }, seconds);
    },
    osImageOverridden: overrides.set,
    rolloutWoken: (pool) => {
      wakes.inc({ pool });
    },
    setLeader: (leads) => {
      leader.set(leads ? 1 : 0);
    },
  };
}

function createExpiries(registry: Registry): {
  readonly observe: (expiries: readonly CertificateExpiry[]) => void;
} {
  let expiries: readonly CertificateExpiry[] = [];
  new Gauge({
    name: 'slipway_certificate_expiry_seconds',
    help: 'Until the first certificate of this subject in this bundle ends; below 0 afterwards',
    labelNames: ['bundle', 'subject'],
    registers: [registry],
    collect() {
      this.reset();
      // The first one to end comes first, and counts.
      for (const { bundle, subject, expiry } of expiries.toReversed()) {
        this.set({ bundle, subject }, (Date.parse(expiry) - Date.now()) / 1000);
      }
    },
  });
  return {
    observe: (seen) => {
      expiries = seen;
    },
  };
}

interface Overrides {
  readonly set: (pool: string, overridden: boolean) => void;
  /** Pools that are gone, or another replica's, are not shown. */
  readonly keepOnly: (pools: readonly string[]) => void;
}

function createOverrides(registry: Registry): Overrides {
  const rendered = new Map<string, boolean>();
  let shown: readonly string[] = [];
  new Gauge({
    name: 'os_image_url_override',
    help: '1 when a MachineConfig sets another osImageURL than the ControllerConfig has',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      this.reset();
      for (const pool of shown) {
        const isOverridden = rendered.get(pool);
        if (isOverridden !== undefined) this.set({ pool }, isOverridden ? 1 : 0);
      }
    },
  });
  return {
    set: (pool, overridden) => {
      rendered.set(pool, overridden);
    },
    keepOnly: (pools) => {
      shown = pools;
    },
  };
}

/** Nodes in several custom pools, and masters whose custom role is ignored. */
function contradictory(
  pools: readonly MachineConfigPool[],
  { conflicts, invalidPools, members }: Membership,
): readonly string[] {
  const invalid = new Set(invalidPools.map(({ pool }) => pool));
  const valid = pools.filter(({ metadata }) => !invalid.has(metadata.name));
  const masters = (members.get('master') ?? []).filter(
    (node) => poolsForNode(node, valid).ignoredCustomPool !== undefined,
  );
  return [...conflicts.map(({ node }) => node), ...masters.map(({ metadata }) => metadata.name)];
}

function isCountedDegraded(node: Node): boolean {
  return annotationOf(node, ANNOTATION.DESIRED_CONFIG) !== undefined && isDegraded(node);
}
