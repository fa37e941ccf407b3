/** Writes the status of every pool, except RenderDegraded, when it changes. */

import { MACHINE_CONFIG_POOLS } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { type CertificateExpiry, untilNextWarning } from '../../core/certificates';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { failureName, messageOf } from '../../core/errors';
import { FIELD_MANAGER, PoolCondition } from '../../core/names';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { isOnlyUpdateTaint } from '../../core/node/update-taint';
import { withPinnedCounts } from '../../core/pinned-images';
import { isConditionTrue } from '../../core/pool/conditions';
import { assignNodes, type Membership } from '../../core/pool/membership';
import { poolStatus, type PoolStatus } from '../../core/pool/status';
import type { MachineConfigPool } from '../../core/pool/types';
import { controlPlaneOf } from '../../core/rollout';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import type { ControllerMetrics } from '../metrics';
import { tellFailure, WorkQueue } from '../work-queue';
import { expiriesNow, type OwnCertificates, withExpiries } from './certificate-expiry';
import { withControlPlaneLimit } from './control-plane-limit';
import { findProblems, withProblems, type PoolProblem } from './pool-problems';
import { ownedStatus, statusDiffers } from './status-patch';
import { withStream } from './stream-of-pool';

const FIELD_OWNER = `${FIELD_MANAGER.CONTROLLERS}-status`;

/** One key, because membership depends on all pools. */
const ALL_POOLS = 'pools';

const LONGEST_MS = 3_600_000;

/** Nodes change in bursts; people read the status about once a second. */
const COALESCING = { quietMs: 200, longestMs: 1_000 };

interface PoolStatusDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly events: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  readonly ownCertificates: OwnCertificates;
  /** RFC 3339. */
  readonly now: () => string;
}

export class PoolStatusController {
  readonly #deps: PoolStatusDeps;
  readonly #queue: WorkQueue;
  #toldProblems = '';

  constructor(deps: PoolStatusDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#queue = new WorkQueue(
      {
        work: () => this.#syncAll(),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'writing pool status failed; will try again');
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => {
      this.#queue.add(ALL_POOLS);
    };
    const { pools, nodes, machineConfigNodes, controllerConfigs } = deps.picture;
    const { osImageStreams, pinnedImageSets } = deps.picture;
    const subscriptions = [
      pools.subscribe(changed),
      nodes.subscribe((event) => {
        if (event.type === 'modified' && isOnlyUpdateTaint(event.previous, event.object)) return;
        changed();
      }),
      machineConfigNodes.subscribe(changed),
      controllerConfigs.subscribe(changed),
      osImageStreams.subscribe(changed),
      pinnedImageSets.subscribe(changed),
      deps.ownCertificates.onChange(changed),
    ];
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    changed();
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #syncAll(): Promise<void> {
    const { picture, metrics } = this.#deps;
    const pools = picture.pools.list();
    const nodes = picture.nodes.list();
    const membership = assignNodes(nodes, pools);
    const problems = findProblems(nodes, pools, membership);
    this.#tellProblems(problems, membership);
    metrics.poolsObserved(pools, nodes, membership, {
      machineConfigNode: (name) => picture.machineConfigNodes.get(name),
      policy: (name) => picture.policies.get(name),
    });
    const controlPlane = controlPlaneOf(nodes).length;
    const config = picture.controllerConfigs.get(CONTROLLER_CONFIG);
    const own = this.#deps.ownCertificates.bundles();
    const failures: unknown[] = [];
    for (const pool of pools) {
      try {
        const members = membership.members.get(pool.metadata.name) ?? [];
        const found = problems.get(pool.metadata.name) ?? [];
        const expiries = expiriesNow(config, own, pool.status);
        this.#lookAgain(expiries);
        await this.#sync(pool, members, found, { controlPlane, expiries });
      } catch (error) {
        // A failed write does not delay the other pools.
        failures.push(error);
      }
    }
    const other = failures.filter((error) => failureName(error) !== 'ApiUnavailable');
    if (other.length > 1) throw new Error(other.map(messageOf).join('; '));
    if (failures.length > 0) throw other[0] ?? failures[0];
  }

  async #sync(
    pool: MachineConfigPool,
    nodes: readonly Node[],
    problems: readonly PoolProblem[],
    {
      controlPlane,
      expiries,
    }: { readonly controlPlane: number; readonly expiries: readonly CertificateExpiry[] },
  ): Promise<void> {
    const { picture, writer, now } = this.#deps;
    const machineConfigNodes = this.#statesOf(nodes);
    const at = now();
    const computed = poolStatus({ pool, nodes, machineConfigNodes, now: at });
    const withLimit = withControlPlaneLimit(computed, pool, nodes, controlPlane, at);
    const withEnds = withExpiries(withLimit, expiries, at);
    const withPinned = withPinnedCounts(withEnds, {
      pool,
      sets: picture.pinnedImageSets.list(),
      nodes: machineConfigNodes,
    });
    const withOs = withStream(withPinned, picture);
    const status = ownedStatus(withProblems(withOs, problems, pool, at));
    if (!statusDiffers(ownedStatus(pool.status), status)) return;
    const { name, uid } = pool.metadata;
    await writer.apply(
      MACHINE_CONFIG_POOLS,
      { metadata: { name, ...(uid === undefined ? {} : { uid }) }, status },
      { manager: FIELD_OWNER, subresource: 'status' },
    );
    this.#tellProgress(pool, status);
  }

  /** Certificates end while nothing changes. */
  #lookAgain(expiries: readonly CertificateExpiry[]): void {
    const { metrics, now } = this.#deps;
    metrics.certificatesObserved(expiries);
    const wait = untilNextWarning(expiries, Date.parse(now())) ?? LONGEST_MS;
    this.#queue.addAfter(ALL_POOLS, Math.min(Math.max(wait, 1_000), LONGEST_MS));
  }

  #statesOf(nodes: readonly Node[]): readonly MachineConfigNode[] {
    const { machineConfigNodes } = this.#deps.picture;
    return nodes.flatMap((node) => machineConfigNodes.get(node.metadata.name) ?? []);
  }

  #tellProgress(pool: MachineConfigPool, status: PoolStatus): void {
    const { events, log } = this.#deps;
    const config = pool.spec.configuration?.name;
    if (config === undefined || config === '') return;
    const { name } = pool.metadata;
    const subject = { resource: MACHINE_CONFIG_POOLS, object: pool };
    const messageBefore = messageIn(pool.status, PoolCondition.UPDATING);
    const updating = isConditionTrue(status.conditions, PoolCondition.UPDATING);
    const updated = isConditionTrue(status.conditions, PoolCondition.UPDATED);
    const wasUpdated = isConditionTrue(pool.status?.conditions, PoolCondition.UPDATED);
    if (updating && messageIn(status, PoolCondition.UPDATING) !== messageBefore) {
      events.record(subject, 'Normal', 'Updating', `Pool ${name} now targeting ${config}`);
      log.info({ pool: name, config }, 'pool is updating');
    }
    if (updated && !wasUpdated && (pool.status?.machineCount ?? 0) > 0) {
      events.record(
        subject,
        'Normal',
        'Completed',
        `Pool ${name} has completed update to ${config}`,
      );
      log.info({ pool: name, config }, 'pool is updated');
    }
  }

  #tellProblems(
    problems: ReadonlyMap<string, readonly PoolProblem[]>,
    { conflicts }: Membership,
  ): void {
    const { log } = this.#deps;
    const text = JSON.stringify([...problems, ...conflicts]);
    if (text === this.#toldProblems) return;
    this.#toldProblems = text;
    for (const [pool, found] of problems) {
      for (const { reason, message } of found) log.warn({ pool, reason: message }, textOf(reason));
    }
  }
}

function textOf(reason: PoolProblem['reason']): string {
  return reason === 'InvalidPool' ? 'pool has an impossible field' : 'node is in several pools';
}

function messageIn(status: PoolStatus | undefined, type: PoolCondition): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.message;
}
