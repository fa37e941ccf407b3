import { encodeDataUrl } from '../encoding/data-url';
import type { IgnitionObject } from '../ignition';
import { FETCH_UNIT, fetchUnit, type HostWorkerSource, stockMachineFiles } from './stock-machine';

export interface Pointer {
  /** `https://host:port` of the server, optionally with a path in front of `/config`. */
  readonly serverUrl: string;
  readonly pool: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly authority: string;
  /** Absent for a server in mode `open`. */
  readonly token?: string;
  /** For images without a host worker; absent = the image has one. */
  readonly hostWorker?: Pick<HostWorkerSource, 'hostSettings' | 'orderKeys'>;
}

/** The first version whose resources have headers. */
const VERSION = '3.1.0';

/**
 * The pointer config. It holds the token, so it is as secret as the first config.
 *
 * @see MCO pkg/controller/common/helpers.go, PointerConfig (7ff337a4), which has no token
 */
export function pointerIgnition(pointer: Pointer): IgnitionObject {
  const { serverUrl, pool, authority, token, hostWorker } = pointer;
  const headers = { httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }] };
  const source = `${serverUrl.replace(/\/+$/, '')}/config/${encodeURIComponent(pool)}`;
  return {
    ignition: {
      version: VERSION,
      config: { merge: [{ source, ...(token === undefined ? {} : headers) }] },
      security: { tls: { certificateAuthorities: [{ source: encodeDataUrl(authority) }] } },
    },
    ...(hostWorker === undefined ? {} : withHostWorker({ serverUrl, authority, ...hostWorker })),
  };
}

function withHostWorker(source: HostWorkerSource) {
  const files = stockMachineFiles(source);
  return {
    storage: {
      files: files.map(({ path, mode, text }) => ({
        ...{ path, mode, overwrite: true },
        contents: { source: encodeDataUrl(text) },
      })),
    },
    systemd: {
      units: [{ name: FETCH_UNIT, enabled: true, contents: fetchUnit(source.hostSettings) }],
    },
  };
}
