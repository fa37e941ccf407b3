/** Settings that every host worker has. */

import type { LogSettings } from '../../process/logging';
import type { TemporalPlace } from '../../process/temporal/connection-options';

/** PEM files of one node's identity: its kubelet client certificate. */
export interface NodeCredentials {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Certificate authority of the servers. */
  readonly authorityFile: string;
}

export interface HostTemporalSettings extends TemporalPlace {
  readonly temporalNamespace: string;
}

export interface HostProcessSettings extends HostTemporalSettings {
  /** Base URL of the host endpoint. */
  readonly serverUrl: string;
  readonly logLevel: LogSettings['level'];
  /** Where health and metrics are served; absent: nowhere. */
  readonly metrics?: { readonly host: string; readonly port: number };
}

/** Settings by name: `serverUrl` is `--server-url` and `SLIPWAY_SERVER_URL`. */
export type HostWorkerOptions = Readonly<Record<string, unknown>>;
