/** Node's hash and decompressor for pure rendering. */

import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { RenderPorts } from '../../core/ignition';

/** Larger than any config that an API server can store; a gzip bomb is refused. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

export const renderPorts: RenderPorts = {
  md5Hex: (data) => createHash('md5').update(data).digest('hex'),
  gunzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_INFLATED_BYTES }),
  digestHex: (algorithm, bytes) => createHash(algorithm).update(bytes).digest('hex'),
};
