/**
 * Names that Slipway shares with the cluster. Those of `machineconfiguration.openshift.io` are
 * MCO's (pkg/daemon/constants/constants.go, 7ff337a4), so that manifests, `kubectl get mcp` and
 * runbooks keep working.
 */

export const MCO_GROUP = 'machineconfiguration.openshift.io';
export const MCO_VERSION = 'v1';
export const SLIPWAY_GROUP = 'slipway.dev';
export const SLIPWAY_VERSION = 'v1alpha1';
export const OPERATOR_GROUP = 'operator.openshift.io';
export const CONFIG_GROUP = 'config.openshift.io';

/** Node annotations, as in MCO. */
export const ANNOTATION = {
  CURRENT_CONFIG: `${MCO_GROUP}/currentConfig`,
  DESIRED_CONFIG: `${MCO_GROUP}/desiredConfig`,
  CURRENT_IMAGE: `${MCO_GROUP}/currentImage`,
  DESIRED_IMAGE: `${MCO_GROUP}/desiredImage`,
  STATE: `${MCO_GROUP}/state`,
  REASON: `${MCO_GROUP}/reason`,
  /** The rendered config that the machine booted with for the first time. */
  FIRST_PIVOT_CONFIG: `${MCO_GROUP}/firstPivotConfig`,
  /** On generated MachineConfigs: the version of the controller. */
  GENERATED_BY_CONTROLLER_VERSION: `${MCO_GROUP}/generated-by-controller-version`,
  RELEASE_IMAGE_VERSION: `${MCO_GROUP}/release-image-version`,
  /** On a MachineConfig that Slipway generates of several objects together: from what. */
  GENERATED_FROM: `${SLIPWAY_GROUP}/generated-from`,
  /** On a KubeletConfig or ContainerRuntimeConfig: the number after the name of its MachineConfigs. */
  NAME_SUFFIX: `${MCO_GROUP}/mc-name-suffix`,
  OS_IMAGE_URL_OVERRIDDEN: `${MCO_GROUP}/os-image-url-overridden`,
  /** On a Node: the workflow ID that set the cordon. Absent = a person's cordon. */
  CORDONED_BY: `${SLIPWAY_GROUP}/cordoned-by`,
  /**
   * On a Node: the run of an update that wrote it last, `v1/<started>/<run ID>`, with `/over` when it
   * is over.
   */
  UPDATE_RUN: `${SLIPWAY_GROUP}/update-run`,
  /** On a pool: the rendered config whose rollout a person cancelled; only a person restarts it. */
  ROLLOUT_CANCELLED: `${SLIPWAY_GROUP}/rollout-cancelled`,
  /**
   * On a pool with policy Manual: the rendered config that a person started, until every node is on
   * it.
   */
  ROLLOUT_STARTED: `${SLIPWAY_GROUP}/rollout-started`,
  /** On a Node: the rendered config that a person skipped or cancelled on this node. */
  HELD_FOR: `${SLIPWAY_GROUP}/held-for`,
  HELD_REASON: `${SLIPWAY_GROUP}/held-reason`,
  /** On a Node: the rendered config on which it failed, and which a person told to try again. */
  RETRY_FOR: `${SLIPWAY_GROUP}/retry-for`,
  /** On a Node: RFC 3339, when its drain timed out. It is tried again after all others. */
  DRAIN_TIMED_OUT: `${SLIPWAY_GROUP}/drain-timed-out`,
  /** On a MachineConfigNode: the update that waits for its grant (`core/node/prepared.ts`). */
  PREPARED: `${SLIPWAY_GROUP}/prepared`,
  PAUSED_REASON: `${SLIPWAY_GROUP}/paused-reason`,
  /** On a Node or a pool: what was done with it, newest first (`core/history`). */
  HISTORY: `${SLIPWAY_GROUP}/history`,
  /** The value that somebody made unreadable; a new history was begun beside it. */
  HISTORY_UNREADABLE: `${SLIPWAY_GROUP}/history-unreadable`,
  /** On a Secret of certificates or of the key of orders that Slipway made: a person asks for a new one. */
  RENEW: `${SLIPWAY_GROUP}/renew`,
  /** On the Secret of a join token: RFC 3339. Written by the server, at most once a minute. */
  LAST_USED: `${SLIPWAY_GROUP}/last-used`,
  /**
   * On a ControllerConfig: the flavour of the templates that its MachineConfigs are generated from;
   * absent = none are. On such a MachineConfig: the same.
   */
  TEMPLATES: `${SLIPWAY_GROUP}/templates`,
  /** On a ControllerConfig: `true` = MachineConfigs of others under the names are taken over. */
  TAKE_OVER: `${SLIPWAY_GROUP}/templates-take-over`,
  /** On a MachineConfig as served: so many of its last kernel arguments come from its Ignition. */
  MOVED_KERNEL_ARGUMENTS: `${SLIPWAY_GROUP}/moved-kernel-arguments`,
} as const;

export const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export const LABEL = {
  /** On MachineConfigs: the role that decides the merge order. */
  ROLE: `${MCO_GROUP}/role`,
  /** On pools that MCO itself makes. */
  BUILT_IN_POOL: `${MCO_GROUP}/mco-built-in`,
  /** On pools that have to be updated before an upgrade is over. */
  REQUIRED_FOR_UPGRADE: 'operator.machineconfiguration.openshift.io/required-for-upgrade',
  ZONE: 'topology.kubernetes.io/zone',
  OS: 'kubernetes.io/os',
  CONTROL_PLANE: 'node-role.kubernetes.io/control-plane',
  /** The name before Kubernetes 1.20, which MCO uses. */
  MASTER: 'node-role.kubernetes.io/master',
  WORKER: 'node-role.kubernetes.io/worker',
  /** On the Secret of a join token: the pool that it opens. */
  JOIN_POOL: `${SLIPWAY_GROUP}/join-pool`,
  /** On Secrets and ConfigMaps of certificates and keys: which process keeps them. */
  MANAGED_BY: 'app.kubernetes.io/managed-by',
} as const;

/** Of the processes, in deploy/. */
export const NAMESPACE = 'slipway';

/** The key by which the cluster workers sign orders, and what everybody may know of it. */
export const ORDER_KEY_SECRET = 'slipway-order-key';
export const ORDER_KEYS_CONFIG_MAP = 'slipway-order-keys';
/** The keys by which all that enters Temporal is encoded. */
export const PAYLOAD_KEYS_SECRET = 'slipway-payload-keys';

/**
 * Holds join tokens and nothing else, so that readers of its Secrets see no keys of the processes.
 */
export const JOIN_TOKEN_NAMESPACE = 'slipway-join';

export const JOIN_TOKEN_TYPE = `${SLIPWAY_GROUP}/join-token`;

/** On a Node that a rollout will drain, as in MCO (NodeUpdateInProgressTaint). */
export const UPDATE_TAINT = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' } as const;

/** Values of the `state` annotation (MCO daemon constants). */
export const NodeState = {
  DONE: 'Done',
  WORKING: 'Working',
  REBOOTING: 'Rebooting',
  DEGRADED: 'Degraded',
  UNRECONCILABLE: 'Unreconcilable',
} as const;
export type NodeState = (typeof NodeState)[keyof typeof NodeState];

export const PoolCondition = {
  UPDATED: 'Updated',
  UPDATING: 'Updating',
  NODE_DEGRADED: 'NodeDegraded',
  RENDER_DEGRADED: 'RenderDegraded',
  /** Of a pool that MCO layers; Slipway clears a stale one. */
  IMAGE_BUILD_DEGRADED: 'ImageBuildDegraded',
  /** Written by MCO; Slipway reads it. */
  PINNED_IMAGE_SETS_DEGRADED: 'PinnedImageSetsDegraded',
  DEGRADED: 'Degraded',
  /**
   * Slipway's: the quorum of the control plane allows fewer nodes at once than the pool. Absent =
   * it does not.
   */
  CONTROL_PLANE_LIMITED: 'ControlPlaneLimited',
  /** Slipway's: a MachineConfig sets an image that the cluster has another one for. Absent = none does. */
  OS_IMAGE_OVERRIDDEN: 'OSImageOverridden',
  /** Slipway's: a certificate of the machines or of the server ends soon. Absent = none does. */
  CERTIFICATES_EXPIRING: 'CertificatesExpiring',
} as const;
export type PoolCondition = (typeof PoolCondition)[keyof typeof PoolCondition];

/** Condition types of a MachineConfigNode (MCO pkg/upgrademonitor, 7ff337a4). */
export const NodeCondition = {
  UPDATE_PREPARED: 'UpdatePrepared',
  UPDATE_EXECUTED: 'UpdateExecuted',
  CORDONED: 'Cordoned',
  DRAINED: 'Drained',
  APPLIED_FILES_AND_OS: 'AppliedFilesAndOS',
  APPLIED_FILES: 'AppliedFiles',
  APPLIED_OS_IMAGE: 'AppliedOSImage',
  UPDATE_POST_ACTION_COMPLETE: 'UpdatePostActionComplete',
  REBOOTED_NODE: 'RebootedNode',
  UPDATE_COMPLETE: 'UpdateComplete',
  UNCORDONED: 'Uncordoned',
  RESUMED: 'Resumed',
  UPDATED: 'Updated',
  NODE_DEGRADED: 'NodeDegraded',
  /** Slipway's: the disk differs from the config of the node. Written by the server. */
  DRIFTED: 'Drifted',
  /**
   * Slipway's: another program would update or reboot the machine, too. Written by the server;
   * absent = none.
   */
  FOREIGN_UPDATER: 'ForeignUpdater',
  /** Slipway's: the certificates and secrets beside the config that the host has. Written by the server. */
  HOST_BUNDLE: 'HostBundle',
  /** Pinned images are being pulled. Written by the server; absent = the node never had any. */
  PINNED_IMAGE_SETS_PROGRESSING: 'PinnedImageSetsProgressing',
  /** A pinned image could not be pulled. Written by the server. */
  PINNED_IMAGE_SETS_DEGRADED: 'PinnedImageSetsDegraded',
} as const;
export type NodeCondition = (typeof NodeCondition)[keyof typeof NodeCondition];

/** Server-side-apply field managers, one per process. */
export const FIELD_MANAGER = {
  CONTROLLERS: 'slipway-controllers',
  CLUSTER_WORKER: 'slipway-cluster-worker',
  CLI: 'slipway-cli',
  SERVER: 'slipway-server',
  /** Also of the server, for a condition that is written by itself. */
  SERVER_BUNDLE: 'slipway-server-bundle',
  SERVER_PINNED: 'slipway-server-pinned-images',
} as const;

/** Temporal namespace of a development server; production sets its own. */
export const TEMPORAL_NAMESPACE = 'slipway';

/** Task queue of all workflows and cluster activities. */
export const CLUSTER_QUEUE = 'slipway';

/** Task queue of the steps of rollouts: whatever waits elsewhere, a step is never behind it. */
export const STEP_QUEUE = 'slipway/step';

export function hostQueue(node: string): string {
  return `host/${node}`;
}

/** Prefix of the identity of a simulated host worker, which must not be mistaken for a machine. */
export const SIMULATED_HOST = 'SIMULATED-host@';

/** Operating system of a simulated machine, also in `status.nodeInfo.osImage` of its Node. */
export const SIMULATED_OS = 'Simulated host (Slipway)';

/** Whether the name has the form `rendered-<pool>-<hash>` for this pool. */
export function isRenderedNameOf(pool: string, name: string): boolean {
  const prefix = `rendered-${pool}-`;
  return name.startsWith(prefix) && /^[0-9a-f]+$/.test(name.slice(prefix.length));
}

/** Workflow ID of a pool's rollout, which limits it to one per pool. */
export function poolRolloutId(pool: string): string {
  return `pool-rollout/${pool}`;
}

/** Workflow ID of a node's update, which limits it to one per machine. */
export function updateNodeId(node: string): string {
  return `update-node/${node}`;
}

/** Pools with files of their own; machines of any other pool have those of worker. */
export const BUILT_IN_POOLS: readonly string[] = ['master', 'worker', 'arbiter'];

/** Pools whose machines are installed from files; other machines wait for the cluster. */
export const BOOTSTRAP_POOLS: readonly string[] = ['master', 'arbiter'];

const OWN_SERVICE = /^slipway-host(-settle|-first-boot|-fallback)?(\.service)?$/;

/** Slipway's services that a machine needs to be reached, and to roll back by itself. */
export function isOwnService(unit: string): boolean {
  return OWN_SERVICE.test(unit);
}
