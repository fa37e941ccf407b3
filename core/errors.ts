/**
 * The failure catalogue: every error that Slipway throws on purpose, by name. The kind decides what
 * happens next, so no call site has a retry rule of its own:
 *
 * - `transient`: retried with backoff, shown only if it lasts
 * - `waiting`: tried again later; the status says what it waits for
 * - `stalled`: a person must change something
 * - `cancelled`: superseded or aborted, and cleaned up
 * - `bug`: cannot happen; shown with its stack
 *
 * `docs/errors.md` is generated from it.
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
    next: 'correct the field in the message, or delete the MachineConfig',
  },
  InvalidMachineConfig: {
    kind: 'stalled',
    means: 'a MachineConfig has a value that no node can apply',
    next: 'correct the field in the message',
  },
  InvalidPool: {
    kind: 'stalled',
    means: 'a MachineConfigPool has an invalid value',
    next: 'correct the field in the message',
  },
  InvalidPolicy: {
    kind: 'stalled',
    means: 'a RolloutPolicy has an invalid value',
    next: 'correct the field in the message',
  },
  NoMachineConfigs: {
    kind: 'stalled',
    means: 'the selector of a pool matches no MachineConfig',
    next: 'label the MachineConfigs, or correct spec.machineConfigSelector',
  },
  ConfigTooLarge: {
    kind: 'stalled',
    means: 'the rendered config is too large for the API server or for a host',
    next: 'compress large files (compression: gzip), or move data out of the MachineConfig',
  },
  Unreconcilable: {
    kind: 'stalled',
    means: 'the change cannot be applied to a running machine',
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
    next: 'create the object, or correct the name',
  },
  Conflict: {
    kind: 'transient',
    means: 'another writer changed the object at the same time',
    next: 'nothing; Slipway reads it and tries again',
  },
  ApiUnavailable: {
    kind: 'transient',
    means: 'the Kubernetes API server does not answer, or is overloaded',
    next: 'nothing at first; if it lasts, check the API server',
  },
  WatchBehind: {
    kind: 'transient',
    means: 'the cache of a cluster worker is older than what a step of the rollout has to see',
    next: 'nothing at first; if it lasts, check the connection of the worker to the API server',
  },
  ApiForbidden: {
    kind: 'transient',
    means: 'the Kubernetes API server rejects the credentials or the rights of a process',
    next: 'apply deploy/rbac, and check the credentials of the process in the message',
  },
  ApiRefused: {
    kind: 'stalled',
    means: 'the Kubernetes API server rejects a request as invalid',
    next: 'correct what the message names; apply deploy/crds of the same version',
  },
  TemporalUnavailable: {
    kind: 'transient',
    means: 'the Temporal server does not answer',
    next: 'nothing at first; if it lasts, check the Temporal server',
  },
  PayloadUnreadable: {
    kind: 'stalled',
    means:
      'what is in Temporal was encoded with a key that is not among the known keys of payloads',
    next: 'put the key that the message names back into the Secret slipway-payload-keys (docs/security.md)',
  },
  DrainBlocked: {
    kind: 'waiting',
    means: 'a disruption budget or an admission policy refuses an eviction, or a pod does not end',
    next: 'scale the workload up, correct the budget or the policy, or delete the pod in the message',
  },
  DrainTimedOut: {
    kind: 'stalled',
    means: 'the node was not drained within drain.timeoutSeconds',
    next: 'check the pods, budgets and policies in the message; Slipway tries the node again after the others; with drain.onTimeout Fail, retry the node',
  },
  UncordonedByUser: {
    kind: 'stalled',
    means: 'a person uncordoned the node between the start of its drain and its reboot',
    next: 'leave the cordon until the update ends, then retry the node',
  },
  CordonedByUser: {
    kind: 'waiting',
    means:
      'a person cordoned the node, before its update or between the start of its drain and its reboot',
    next: 'uncordon the node, then Slipway updates it',
  },
  HeldByUser: {
    kind: 'cancelled',
    means: 'a person skipped the node or cancelled its update; the update was taken back',
    next: 'slipway node retry, if the node should get this config after all',
  },
  NodeDeleted: {
    kind: 'cancelled',
    means: 'the Node was deleted during its update',
    next: 'nothing; if the machine comes back under this name, it is a new node',
  },
  NodeMoved: {
    kind: 'cancelled',
    means: 'the node was moved to another pool during its update',
    next: 'nothing; the rollout of its new pool updates it',
  },
  Retargeted: {
    kind: 'cancelled',
    means: 'the pool got another config before the reboot of the node was armed',
    next: 'nothing; the rollout updates the node to the new config',
  },
  UpdateSuperseded: {
    kind: 'cancelled',
    means:
      'a late step wanted to change a Node after its update had ended, or after a later update had begun',
    next: 'nothing; the step changed nothing, and the later update continues',
  },
  EarlierUpdateLost: {
    kind: 'cancelled',
    means:
      'the host had an unfinished update to another config, whose workflow was lost; the host was rolled back first',
    next: 'nothing; the node is updated again from its previous config',
  },
  EarlierUpdateFailed: {
    kind: 'stalled',
    means:
      'an update to this config failed on the host, and its workflow was lost before it could report that; the host was rolled back',
    next: 'check the failure in the message; correct the config, or retry the node',
  },
  NodeNotReady: {
    kind: 'stalled',
    means: 'the node did not become Ready in time after its update',
    next: 'check the kubelet of the node; the node was rolled back, unless the reason says that its host had committed the new config',
  },
  // Host
  HostUnreachable: {
    kind: 'stalled',
    means: 'the host worker of the node did not accept its work in time',
    next: 'check that slipway-host runs on the machine and reaches Temporal',
  },
  ConfigFetchFailed: {
    kind: 'transient',
    means: 'the host could not fetch its rendered config from the server',
    next: 'check that the server runs and that the machine reaches it',
  },
  ConfigForbidden: {
    kind: 'stalled',
    means: 'the server does not give this config to this node',
    next: 'check the certificate of the host and the pool of the node',
  },
  DigestMismatch: {
    kind: 'stalled',
    means: 'the fetched config does not have the digest in the order',
    next: 'check proxies between host and server; retry the node',
  },
  OrderRefused: {
    kind: 'stalled',
    means:
      'a host got an order that it does not obey: not signed by its cluster, for another node, pool or step, expired, repeated, or of an update that was rolled back',
    next: 'read the message (docs/security.md#signed-orders), then retry the node; if orders keep expiring, check the clocks',
  },
  OrderOutdated: {
    kind: 'cancelled',
    means:
      'the API server shows another config, pool or policy for the node by now, so the cluster worker did not sign an order, or the server did not give its config to the host',
    next: 'nothing; the rollout updates the node to what the API server shows',
  },
  ConfigDrift: {
    kind: 'stalled',
    means: 'the disk does not match the current config of the node',
    next: 'restore the path in the message (slipway drift); Slipway then updates the node by itself',
  },
  ApplyFailed: {
    kind: 'stalled',
    means: 'the config could not be written to the host; everything was undone',
    next: 'correct what the message names, then retry the node or change the config',
  },
  ImageRefused: {
    kind: 'stalled',
    means:
      'the host does not accept the OS image: digest, signature, architecture, space or driver',
    next: 'correct what the message names: the image reference, the policy or the disk of the host',
  },
  PullFailed: {
    kind: 'transient',
    means: 'an image could not be read from its registry',
    next: 'check that the registry runs, and that the host, or whoever runs the command, reaches it and has credentials for it',
  },
  InvalidRelease: {
    kind: 'stalled',
    means: 'an image is no release, or its release has no OS image',
    next: 'name another release, or the OS image itself: slipway os set IMAGE',
  },
  OsCommandFailed: {
    kind: 'stalled',
    means: 'a program that manages the operating system of the host failed',
    next: 'check its output in the message and its log on the machine; then retry the node',
  },
  ServiceFailed: {
    kind: 'stalled',
    means: 'a service did not start again after its reload or restart; the files were undone',
    next: 'check the log of the service in the message, and correct its config',
  },
  WrongDeployment: {
    kind: 'stalled',
    means: 'after the reboot the host runs another deployment than expected',
    next: 'check the boot log of the host; it is on its previous config',
  },
  VerifyFailed: {
    kind: 'stalled',
    means:
      'after the update the host does not match its config, or did not reach Temporal before its commit',
    next: 'check the path or argument in the message, or the network of the host; the host was rolled back',
  },
  JournalFailed: {
    kind: 'stalled',
    means: 'the host cannot read or write its undo journal',
    next: 'repair the disk as the message says, then retry the node',
  },
  RollbackFailed: {
    kind: 'stalled',
    means: 'the host could not be rolled back to its previous config; it stays cordoned',
    next: 'check the machine: the message names the failed step; then retry the node',
  },
  LaterVersion: {
    kind: 'stalled',
    means:
      'a later Slipway wrote the undo journal of the host, or the mark of an update on its Node',
    next: 'install that later Slipway again, as the message says; then retry the node',
  },
  NotYetRebooted: {
    kind: 'waiting',
    means: 'the machine has not come back from its reboot',
    next: 'wait; if it lasts, check the console of the machine',
  },
  // Workflows and operators
  WrongWorkflowId: {
    kind: 'stalled',
    means: 'the rollout of a pool was started under another workflow ID',
    next: 'start it as pool-rollout/<pool>',
  },
  RefusedRequest: {
    kind: 'stalled',
    means: 'a request does not fit the state of the rollout',
    next: 'read the message; check slipway rollout status',
  },
  McoPresent: {
    kind: 'stalled',
    means: 'the Machine Config Operator manages this cluster',
    next: 'remove it first, or use another cluster',
  },
} as const satisfies Record<string, FailureEntry>;

export type FailureName = keyof typeof FAILURES;

/** Why something failed. `name` is absent for what nobody threw on purpose. */
export interface Failure {
  readonly name?: FailureName;
  readonly reason: string;
}

/** `Name: reason`, for the record. */
export function sentence({ name, reason }: Failure): string {
  return name === undefined ? reason : `${name}: ${reason}`;
}

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
