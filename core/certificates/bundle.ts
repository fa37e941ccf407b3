/** The authorities by which machines recognise the server. */

import { validOf } from './pem';

export const BUNDLE_CONFIG_MAP = 'slipway-server-ca';

/** In Secrets of certificates, also those of cert-manager, and in ConfigMaps. */
export const BUNDLE_KEY = 'ca.crt';

/**
 * The present authority first, then earlier ones until they end: a machine may still be told by a
 * server that has not loaded its new certificate.
 */
export function bundleOf(authority: string, previous: string, nowMs: number): string {
  return validOf([authority, previous], nowMs);
}
