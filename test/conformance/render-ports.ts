/** Rendering ports on Node, for the runner, tests and benchmarks. */

import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

import type { RenderPorts } from '../../core/ignition';

export const nodePorts: RenderPorts = {
  md5Hex: (data) => createHash('md5').update(data).digest('hex'),
  gunzip: (bytes) => new Uint8Array(gunzipSync(bytes)),
  digestHex: (algorithm, bytes) => createHash(algorithm).update(bytes).digest('hex'),
};
