/** What `slipway doctor` asks; the real ones are in `cluster-facts.ts` and `temporal-facts.ts`. */

import type { OperatorStatus } from '../../core/operator-status';
import type { ServerAccess } from './access-rules';

/** Of a CustomResourceDefinition, as far as it is looked at. */
export interface InstalledCrd {
  readonly name: string;
  readonly isEstablished: boolean;
  readonly servedVersions: readonly string[];
}

export interface InstalledDeployment {
  readonly name: string;
  readonly wanted: number;
  readonly ready: number;
  readonly images: readonly string[];
}

export interface NodeLease {
  readonly node: string;
  /** RFC 3339. */
  readonly renewedAt: string;
}

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
  /** PEM: the bundle. */
  readonly authorities: string;
}

export interface DoctorCluster {
  readonly server: string;
  /** `v1.36.3` */
  version(): Promise<string>;
  /** Who asks, and what time it is there. */
  whoAmI(): Promise<{ readonly user: string; readonly at: string }>;
  crds(): Promise<readonly InstalledCrd[]>;
  /** Of Slipway's namespace; none = its processes run elsewhere, or not at all. */
  deployments(): Promise<readonly InstalledDeployment[]>;
  /** @throws `ApiForbidden` when the caller may not ask this */
  mayDo(user: string, access: ServerAccess): Promise<boolean>;
  nodeLeases(): Promise<readonly NodeLease[]>;
  /** PEM; undefined = there is none. */
  serverCertificate(): Promise<string | undefined>;
  /** PEM: the bundle for machines; undefined = there is none. */
  serverAuthorities(): Promise<string | undefined>;
  /** JSON: by which machines know orders; undefined = there are none. */
  orderKeys(): Promise<string | undefined>;
  /** Files of the installer; undefined = it is not installed. */
  installerSettings(): Promise<Readonly<Record<string, string>> | undefined>;
  /** By which machines call the server. */
  serverNames(): Promise<readonly string[]>;
  /** Outside of the cluster, for machines; none = there is no Service, or it is for pods alone. */
  serverPorts(): Promise<readonly number[]>;
  /** Why no machine could connect there from here; undefined = it could. */
  refusalOf(place: ServerPlace): Promise<string | undefined>;
  /** PEM; undefined = there is none. */
  clientAuthorities(): Promise<string | undefined>;
  /** Of the whole system; undefined = nobody has written one. */
  operatorStatus(): Promise<OperatorStatus | undefined>;
  /** Whether another program has made the ClusterOperator under Slipway's name. */
  hasForeignOperator(): Promise<boolean>;
  /** In words; undefined = MCO does not run here. */
  mco(): Promise<string | undefined>;
}

export interface Backlog {
  readonly tasks: number;
  /** Of the oldest task. */
  readonly ageSeconds: number;
}

/** Of an open workflow. */
export interface HistorySize {
  readonly workflow: string;
  readonly events: number;
  readonly bytes: number;
}

export interface DoctorTemporal {
  readonly address: string;
  readonly namespace: string;
  /** `1.31.0` */
  version(): Promise<string>;
  /** In words: `the namespace slipway`. */
  missing(): Promise<readonly string[]>;
  /** How many cluster workers ask for workflow tasks, for activities, and for steps of rollouts. */
  clusterWorkers(): Promise<{ readonly [queue: string]: number }>;
  /** Of the same queues, where tasks wait. */
  backlogs(): Promise<{ readonly [queue: string]: Backlog }>;
  /** Of the open rollouts and updates; at most 2,000. */
  histories(): Promise<readonly HistorySize[]>;
  /** Whether the host worker of the node has asked for work in the last minutes. */
  hasHostWorker(node: string): Promise<boolean>;
}
