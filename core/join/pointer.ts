/** The Ignition config that a new machine is started with: where the real one is, and how to get it. */

import { encodeDataUrl } from '../encoding/data-url';
import type { IgnitionObject } from '../ignition';

/** What a machine needs to fetch its first config. */
export interface Pointer {
  /** `https://host:port` of the server, perhaps with a path in front of `/config`. */
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
 * The pointer config. It holds the token, so it is as secret as the config that it points to.
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
