/** What Slipway reads of a ControllerConfig. People may write anything into it. */

import { textAt } from './values-at';

/** MCO's name. */
export const CONTROLLER_CONFIG = 'machine-config-controller';

/** Where machines find the control plane, and by default Slipway's server: a name or an address. */
export function internalHostOf(config: unknown): string | undefined {
  const uri = filledAt(config, 'spec', 'infra', 'status', 'apiServerInternalURI');
  const host = uri !== undefined && URL.canParse(uri) ? new URL(uri).hostname : '';
  return host === '' ? undefined : host;
}

/** PEM of the cluster's authority. */
export function rootAuthorityOf(config: unknown): string | undefined {
  const encoded = filledAt(config, 'spec', 'rootCAData');
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
}

/** Image of the release that the cluster runs. */
export function releaseImageOf(config: unknown): string | undefined {
  return filledAt(config, 'spec', 'releaseImage');
}

/** An empty text counts as absent. */
function filledAt(config: unknown, ...path: readonly string[]): string | undefined {
  const text = textAt(config, ...path);
  return text === '' ? undefined : text;
}
