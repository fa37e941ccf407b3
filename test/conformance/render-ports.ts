/** Rendering ports on Node, for the runner, tests and benchmarks. */

import { gunzipSync } from 'node:zlib';

import type { RenderPorts } from '../../core/ignition';

export const nodePorts: RenderPorts = {
  gunzip: (bytes) => new Uint8Array(gunzipSync(bytes)),
};
