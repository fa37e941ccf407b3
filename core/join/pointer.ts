import { encodeDataUrl } from '../encoding/data-url';
import type { IgnitionObject } from '../ignition';

export interface Pointer {
  /** `https://host:port` of the server, optionally with a path in front of `/config`. */
  readonly serverUrl: string;
  readonly pool: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly authority: string;
  /** Absent for a server in mode `open`. */
  readonly token?: string;
}

/** The first version whose resources have headers. */
const VERSION = '3.1.0';

/**
 * The pointer config. It holds the token, so it is as secret as the first config.
 *
 * @see MCO pkg/controller/common/helpers.go, PointerConfig (7ff337a4), which has no token
 */
export function pointerIgnition({ serverUrl, pool, authority, token }: Pointer): IgnitionObject {
  const headers = { httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }] };
  const source = `${serverUrl.replace(/\/+$/, '')}/config/${encodeURIComponent(pool)}`;
  return {
    ignition: {
      version: VERSION,
      config: { merge: [{ source, ...(token === undefined ? {} : headers) }] },
      security: { tls: { certificateAuthorities: [{ source: encodeDataUrl(authority) }] } },
    },
  };
}
