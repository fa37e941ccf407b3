/** Writes the status of the whole system: `Slipway/cluster`, and the ClusterOperator `slipway` where it is served. */

import type { CacheEvent, CacheView, WatchCache } from '../../adapters/kube/cache';
import {
  CLUSTER_OPERATORS,
  SLIPWAYS,
  type KubeObject,
  type Resource,
} from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import { isOurs, OWN_LABELS } from '../../core/certificates';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { MACHINE_CONFIGURATION, type MachineConfiguration } from '../../core/disruption';
import { FIELD_MANAGER } from '../../core/names';
import type { MachineConfigNode } from '../../core/node/types';
import {
  CLUSTER_OPERATOR,
  clusterOperatorStatus,
  componentsOf,
  HostVersions,
  imageOfPod,
  operatorStatus,
  settingFaults,
  SLIPWAY,
  statusDiffers,
  temporalFaults,
  temporalSaidAwaySince,
  type Component,
  type OperatorStatus,
} from '../../core/operator-status';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import type { EventRecorder, Subject } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { absorb, follow, followedObjects, isKnown, type Followed } from './followed';
import { tellChange } from './tell-change';

/** Of the status. */
const FIELD_OWNER = `${FIELD_MANAGER.CONTROLLERS}-operator-status`;

const STATUS = 'status';

/** Counts of pools change all the time during a rollout; a person reads them about once a second. */
const COALESCING = { quietMs: 1_000, longestMs: 1_500 };
/** Deadlines pass, Temporal goes away and kinds are served without an event. A look costs no request. */
const LOOK_AGAIN_MS = 30_000;

interface OperatorStatusDeps {
  readonly source: WatchSource;
  readonly picture: {
    readonly pools: CacheView<MachineConfigPool>;
    readonly policies: CacheView<RolloutPolicy>;
    readonly machineConfigNodes: CacheView<MachineConfigNode>;
    readonly controllerConfigs: CacheView<KubeObject>;
    readonly machineConfigurations: CacheView<MachineConfiguration>;
  };
  readonly writerWith: (
    absorb: (resource: Resource, object: KubeObject) => void,
  ) => Pick<Writer, 'apply'>;
  readonly events: EventRecorder;
  readonly log: Log;
  /** Of the processes. */
  readonly namespace: string;
  /** Of these controllers. */
  readonly version: string;
  /** Of these controllers, where they run in one. */
  readonly podName: string;
  /** What rollouts wait for, in words. */
  readonly rolloutsWaitFor: () => readonly string[];
  /** RFC 3339. */
  readonly now: () => string;
}

export class OperatorStatusController {
  readonly #deps: OperatorStatusDeps;
  readonly #queue: WorkQueue;
  readonly #followed: Followed;
  readonly #following: Promise<void>;
  readonly #writer: Pick<Writer, 'apply'>;
  readonly #hosts = new HostVersions();
  /** Absent = this leader has said nothing yet. */
  #last: OperatorStatus | undefined;
  #temporalAwaySince: string | undefined;
  #toldForeign = false;

  constructor(deps: OperatorStatusDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#followed = followedObjects(deps.namespace, deps.log);
    this.#writer = deps.writerWith((resource, object) => {
      absorb(this.#followed, resource, object);
    });
    this.#queue = new WorkQueue(
      {
        work: () => this.#sync(),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'writing the status of the system failed; will try again');
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => {
      this.#queue.add(STATUS);
    };
    const { pools, policies, machineConfigNodes, controllerConfigs, machineConfigurations } =
      deps.picture;
    for (const node of machineConfigNodes.list()) this.#count({ type: 'added', object: node });
    const subscriptions = [
      ...[pools, policies, controllerConfigs, machineConfigurations].map((view) =>
        view.subscribe(changed),
      ),
      machineConfigNodes.subscribe((event) => {
        if (this.#count(event)) changed();
      }),
    ];
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    this.#following = follow(this.#followed, deps.source, { signal: leading, changed });
  }

  async idle(): Promise<void> {
    await Promise.all([this.#following, this.#queue.idle()]);
  }

  /** @returns whether a version has changed: never looks at the other hosts */
  #count({ type, object }: CacheEvent<MachineConfigNode>): boolean {
    const { name } = object.metadata;
    if (type === 'deleted') return this.#hosts.delete(name);
    return this.#hosts.set(name, object.status?.hostWorker?.version);
  }

  async #sync(): Promise<void> {
    if (!isKnown(this.#followed)) return;
    const { slipway, clusterOperator } = this.#followed;
    const before = this.#last ?? slipway.get(SLIPWAY)?.status;
    const status = this.#decide(before);
    this.#queue.addAfter(STATUS, LOOK_AGAIN_MS);
    this.#last = status;
    const written = await Promise.allSettled([
      this.#write(SLIPWAYS, slipway, SLIPWAY, status),
      ...(this.#isOwn(clusterOperator) ? [this.#writeClusterOperator(status)] : []),
    ]);
    tellChange(this.#deps, before, status, this.#subjects());
    const failures = written.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as Error] : [],
    );
    const [failure] = failures;
    // One that is refused does not keep the other back.
    if (failure !== undefined) throw failure;
  }

  #decide(before: OperatorStatus | undefined) {
    const { picture, version, podName, rolloutsWaitFor } = this.#deps;
    const now = this.#deps.now();
    const pods = this.#followed.pods.list();
    const known: readonly Component[] = before?.components ?? [];
    const waitsFor = rolloutsWaitFor();
    this.#temporalAwaySince =
      waitsFor.length === 0
        ? undefined
        : (this.#temporalAwaySince ?? temporalSaidAwaySince(before?.conditions) ?? now);
    return operatorStatus({
      pools: picture.pools.list(),
      policyOf: (pool) => picture.policies.get(pool),
      components: componentsOf(pods, known, now),
      hostWorkers: this.#hosts.counted,
      faults: [
        ...temporalFaults(waitsFor, this.#temporalAwaySince, Date.parse(now)),
        ...settingFaults(
          picture.controllerConfigs.get(CONTROLLER_CONFIG),
          picture.machineConfigurations.get(MACHINE_CONFIGURATION),
        ),
      ],
      own: { version, image: imageOfPod(pods, podName) },
      before,
      now,
    });
  }

  /** One that another program has made is left alone. */
  #isOwn(cache: Followed['clusterOperator']): boolean {
    if (!cache.isServed) return false;
    const found = cache.get(CLUSTER_OPERATOR);
    const isOwn = found === undefined || isOurs(found.metadata);
    if (!isOwn && !this.#toldForeign) {
      const [label, value] = Object.entries(OWN_LABELS)[0] as [string, string];
      const fix = `delete it, or hand it over: kubectl label clusteroperator ${CLUSTER_OPERATOR} ${label}=${value}`;
      this.#deps.log.warn({ fix }, 'the ClusterOperator slipway is not of Slipway; left alone');
    }
    this.#toldForeign = !isOwn;
    return isOwn;
  }

  async #writeClusterOperator(status: OperatorStatus): Promise<void> {
    const { clusterOperator } = this.#followed;
    const shown = clusterOperatorStatus(status);
    await this.#write(CLUSTER_OPERATORS, clusterOperator, CLUSTER_OPERATOR, shown, { spec: {} });
  }

  /** @param more - what an object of this kind has to have */
  async #write<T extends KubeObject & { readonly status?: object }>(
    resource: Resource<T>,
    cache: WatchCache<T>,
    name: string,
    status: object,
    more: { readonly spec?: object } = {},
  ): Promise<void> {
    const how = { manager: FIELD_OWNER };
    const object =
      cache.get(name) ??
      (await this.#writer.apply(
        resource,
        { metadata: { name, labels: OWN_LABELS }, ...more },
        how,
      ));
    if (!statusDiffers(object.status, status)) return;
    const { uid } = object.metadata;
    const metadata = { name, ...(uid === undefined ? {} : { uid }) };
    await this.#writer.apply(resource, { metadata, status }, { ...how, subresource: 'status' });
  }

  #subjects(): readonly Subject[] {
    const { slipway, clusterOperator } = this.#followed;
    const own = slipway.get(SLIPWAY);
    const shown = clusterOperator.get(CLUSTER_OPERATOR);
    return [
      ...(own === undefined ? [] : [{ resource: SLIPWAYS, object: own }]),
      ...(shown === undefined || !isOurs(shown.metadata)
        ? []
        : [{ resource: CLUSTER_OPERATORS, object: shown }]),
    ];
  }
}
