import type { LogSettings } from '../../process/logging';
import type { TemporalPlace } from '../../process/temporal/connection-options';

/** PEM files: the kubelet client certificate of one node. */
export interface NodeCredentials {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** The authority of the servers. */
  readonly authorityFile: string;
}

/** `temporalAddress` may be that of the gateway. */
export interface HostTemporalSettings extends TemporalPlace {
  readonly temporalNamespace: string;
  /** Temporal itself, with the credentials of these settings; else the gateway. */
  readonly isDirect: boolean;
}

export interface HostProcessSettings extends HostTemporalSettings {
  /** Base URL of the host endpoint. */
  readonly serverUrl: string;
  readonly logLevel: LogSettings['level'];
  /** Absent: nowhere. */
  readonly metrics?: { readonly host: string; readonly port: number };
}

/** `serverUrl` is `--server-url` and `SLIPWAY_SERVER_URL`. */
export type HostWorkerOptions = Readonly<Record<string, unknown>>;
