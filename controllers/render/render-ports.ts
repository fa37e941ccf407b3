import { gunzipSync } from 'node:zlib';
import type { RenderPorts } from '../../core/ignition';

/** Larger than any config that an API server stores; a gzip bomb is refused. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

export const renderPorts: RenderPorts = {
  gunzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_INFLATED_BYTES }),
};
