/** What pure rendering needs of Node: a hash and a decompressor. */

import { gunzipSync } from 'node:zlib';
import type { RenderPorts } from '../../core/ignition';

/** No config that an API server can store is larger; a gzip bomb is refused instead of inflated. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

export const renderPorts: RenderPorts = {
  gunzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_INFLATED_BYTES }),
};
