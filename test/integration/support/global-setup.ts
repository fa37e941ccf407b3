/** One API server for all files of integration: the most of what a cluster costs is its start. */

import { serveControlPlane, type ServedControlPlane } from './control-plane';

declare global {
  var slipwayControlPlane: ServedControlPlane | undefined;
}

export default async function startControlPlane(): Promise<void> {
  globalThis.slipwayControlPlane = await serveControlPlane();
}
