/**
 * The failure catalogue: everything that Slipway throws on purpose, by name. The kind decides what
 * happens next, so nobody writes a retry rule at a call site:
 *
 * - `transient`: retried with backoff, nothing shown until it persists
 * - `waiting`: come back later; the status says what for
 * - `stalled`: a person must change something; never retried by itself
 * - `cancelled`: superseded or aborted; cleaned up after
 * - `bug`: cannot happen; shown with its stack
 *
 * `docs/errors.md` is the human form; a test compares both ways.
 */

export type FailureKind = 'transient' | 'waiting' | 'stalled' | 'cancelled' | 'bug';

export interface FailureEntry {
  readonly kind: FailureKind;
  /** One sentence: what is wrong. */
  readonly means: string;
  /** The operator's next step. */
  readonly next: string;
}

export const FAILURES = {
  // Reading and rendering MachineConfigs
  InvalidIgnition: {
    kind: 'stalled',
    means: 'a MachineConfig has an Ignition config that cannot be read, translated or merged',
    next: 'correct the field that the message names, or delete the MachineConfig',
  },
  InvalidMachineConfig: {
    kind: 'stalled',
    means: 'a MachineConfig has a field with a value that no node can apply',
    next: 'correct the field that the message names',
  },
  InvalidPool: {
    kind: 'stalled',
    means: 'a MachineConfigPool has a field with an impossible value',
    next: 'correct the field that the message names',
  },
  InvalidPolicy: {
    kind: 'stalled',
    means: 'a RolloutPolicy has a field with an impossible value',
    next: 'correct the field that the message names',
  },
  NoMachineConfigs: {
    kind: 'stalled',
    means: 'the selector of a pool matches no MachineConfig',
    next: 'label the MachineConfigs, or correct spec.machineConfigSelector',
  },
  ConfigTooLarge: {
    kind: 'stalled',
    means: 'the rendered config is larger than the API server can store, or than a host takes',
    next: 'compress large files (compression: gzip), or move data out of the MachineConfig',
  },
  Unreconcilable: {
    kind: 'stalled',
    means: 'the difference between two configs cannot be applied to a running machine',
    next: 'revert the change, or reprovision the machines',
  },
  NodeInSeveralPools: {
    kind: 'stalled',
    means: 'a node belongs to more than one custom pool',
    next: 'remove all but one of its custom role labels',
  },
  // Cluster
  ObjectNotFound: {
    kind: 'stalled',
    means: 'an object that the rollout needs does not exist',
    next: 'create it, or correct the name',
  },
  Conflict: {
    kind: 'transient',
    means: 'somebody else changed the object in between',
    next: 'nothing; it is read and tried again',
  },
  ApiUnavailable: {
    kind: 'transient',
    means: 'the Kubernetes API server does not answer or is overloaded',
    next: 'nothing at first; check the API server when it lasts',
  },
  WatchBehind: {
    kind: 'transient',
    means: 'a cluster worker does not see yet what was seen of the cluster already',
    next: 'nothing at first; check its connection to the API server when it lasts',
  },
  ApiForbidden: {
    kind: 'transient',
    means: 'the Kubernetes API server does not know or does not permit this process',
    next: 'apply deploy/rbac, and check the credentials of the process that is named',
  },
  ApiRefused: {
    kind: 'stalled',
    means: 'the Kubernetes API server refuses a request as invalid',
    next: 'correct what the message names; apply deploy/crds of the same version',
  },
  TemporalUnavailable: {
    kind: 'transient',
    means: 'the Temporal server does not answer',
    next: 'nothing at first; check the Temporal server when it lasts',
  },
  DrainBlocked: {
    kind: 'waiting',
    means: 'a disruption budget or an admission policy refuses an eviction, or a pod does not go',
    next: 'scale the workload up, correct its budget or the policy, or delete the pod that is named',
  },
  DrainTimedOut: {
    kind: 'stalled',
    means: 'the node could not be drained within drain.timeoutSeconds',
    next: 'look at the pods, budgets and policies that are named; the node is tried again by itself, last of all, unless drain.onTimeout is Fail: then retry it',
  },
  UncordonedByUser: {
    kind: 'stalled',
    means:
      'somebody uncordoned the node while it was being drained, or between that and its reboot',
    next: 'leave the cordon alone until the update ends, then retry the node',
  },
  CordonedByUser: {
    kind: 'waiting',
    means:
      'a person cordoned the node, or cordoned it anew between the start of its drain and its reboot, so it is left alone',
    next: 'uncordon it to let it be updated',
  },
  SlotNeeded: {
    kind: 'waiting',
    means:
      'the slot is good for nothing any more: no update has left the node to be repaired as it is, or other nodes of the pool have gone out of service since',
    next: 'nothing; its update waits for another slot',
  },
  HeldByUser: {
    kind: 'cancelled',
    means:
      'a person skipped the node, or cancelled its update, and the rollout that should have told the update was lost',
    next: 'slipway node retry when it may be updated to this config after all',
  },
  RolloutGone: {
    kind: 'cancelled',
    means: 'an update waited for its slot, but no rollout of the pool ran any more',
    next: 'nothing; the next rollout of the pool starts it again',
  },
  NodeDeleted: {
    kind: 'cancelled',
    means: 'the Node was deleted while it was being updated',
    next: 'nothing; a machine that comes back under its name is a new node',
  },
  NodeMoved: {
    kind: 'cancelled',
    means: 'the node was moved to another pool while it was being updated',
    next: 'nothing; the rollout of its new pool updates it',
  },
  UpdateSuperseded: {
    kind: 'cancelled',
    means:
      'a step of an update wanted to write or drain a Node that a later update has written, or that was given back already',
    next: 'nothing; it has written and evicted nothing, and the later update goes on; the open update of a node is never refused',
  },
  EarlierUpdateLost: {
    kind: 'cancelled',
    means:
      'the host still had an update to another config whose workflow was lost; it was taken back first',
    next: 'nothing; the node is tried again from its previous config',
  },
  EarlierUpdateFailed: {
    kind: 'stalled',
    means:
      'an update to this config had failed on the host, and was lost before its node could say so; the host was taken back, and the config is not tried again',
    next: 'look at the failure that the message names; correct the config, or retry the node',
  },
  NodeNotReady: {
    kind: 'stalled',
    means: 'the node did not become Ready in time after its update',
    next: 'look at the kubelet of the node; it was taken back to its previous config, unless the reason says that its host had committed the new one',
  },
  // Host
  HostUnreachable: {
    kind: 'stalled',
    means: 'the host worker of the node did not pick its work up in time',
    next: 'check that the slipway host worker runs on the machine and reaches Temporal',
  },
  ConfigFetchFailed: {
    kind: 'transient',
    means: 'the host could not fetch its rendered config from the server',
    next: 'check that the server runs and that the machine reaches it',
  },
  ConfigForbidden: {
    kind: 'stalled',
    means: 'the server refuses this config to this node',
    next: 'check the certificate of the host and the pool of the node',
  },
  DigestMismatch: {
    kind: 'stalled',
    means: 'the bytes of the fetched config do not have the digest that the order names',
    next: 'check what stands between host and server; retry the node',
  },
  OrderRefused: {
    kind: 'stalled',
    means:
      'an order was for another node, had expired, or was of an update that had been taken back',
    next: 'read the message, then retry the node; check the clocks if an order expires again',
  },
  ConfigDrift: {
    kind: 'stalled',
    means: 'the disk no longer matches the current config of the node',
    next: 'restore the path that is named, and the node is tried again by itself (slipway drift)',
  },
  ApplyFailed: {
    kind: 'stalled',
    means: 'writing the config to the host failed; everything was put back',
    next: 'correct what the message names, then retry the node or change the config',
  },
  ImageRefused: {
    kind: 'stalled',
    means: 'the host does not take an OS image: digest, signature, architecture, space or driver',
    next: 'correct what the message names: the image reference, the policy or the disk of the host',
  },
  PullFailed: {
    kind: 'transient',
    means: 'an OS image could not be pulled from its registry',
    next: 'check that the registry runs, that the host reaches it and has credentials for it',
  },
  OsCommandFailed: {
    kind: 'stalled',
    means: 'a program that manages the operating system of the host failed',
    next: 'look at what it said, and at its log on the machine; then retry the node',
  },
  ServiceFailed: {
    kind: 'stalled',
    means:
      'a service did not come back after it was reloaded or restarted; the files were put back',
    next: 'look at the log of the service that is named, and correct its config',
  },
  WrongDeployment: {
    kind: 'stalled',
    means: 'after the reboot the host runs another deployment than the expected one',
    next: 'look at the boot log of the host; it is on its previous config',
  },
  VerifyFailed: {
    kind: 'stalled',
    means:
      'after the update the host does not match its config, or it fell silent before it was told to keep it',
    next: 'look at the path or argument that is named, or at the network of the host; it was taken back',
  },
  JournalFailed: {
    kind: 'stalled',
    means: 'the host cannot read or write the undo journal that every change of it needs',
    next: 'mend the disk as the message says, then retry the node',
  },
  RollbackFailed: {
    kind: 'stalled',
    means: 'the host could not be taken back to its previous config',
    next: 'look at the machine: the message names the step that failed; then retry the node',
  },
  NotYetRebooted: {
    kind: 'waiting',
    means: 'the machine has not come back from its reboot',
    next: 'wait; look at its console when it lasts',
  },
  // Workflows and operators
  WrongWorkflowId: {
    kind: 'stalled',
    means: 'the rollout of a pool was started under another workflow ID',
    next: 'start it as pool-rollout/<pool>',
  },
  RefusedRequest: {
    kind: 'stalled',
    means: 'a request makes no sense in the present state of the rollout',
    next: 'read the message; look at the progress of the rollout',
  },
  McoPresent: {
    kind: 'stalled',
    means: 'the Machine Config Operator already manages this cluster',
    next: 'run Slipway on clusters without it, or remove it first',
  },
} as const satisfies Record<string, FailureEntry>;

export type FailureName = keyof typeof FAILURES;

/** An error of the catalogue. `details` is plain JSON without secrets. */
export interface DomainError extends Error {
  readonly name: FailureName;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Makes an error of the catalogue.
 *
 * @param message - subject and cause, lower case, no full stop, no secret
 */
export function fail(
  name: FailureName,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): DomainError {
  const error = new Error(message);
  return Object.assign(error, { name, ...(details === undefined ? {} : { details }) });
}

/** The catalogue name of an error, recognised by name because errors cross realms; or undefined. */
export function failureName(error: unknown): FailureName | undefined {
  if (typeof error !== 'object' || error === null || !('name' in error)) return undefined;
  const name = error.name;
  return typeof name === 'string' && Object.hasOwn(FAILURES, name)
    ? (name as FailureName)
    : undefined;
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) {
    return String(error.message);
  }
  return String(error);
}
