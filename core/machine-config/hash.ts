/**
 * The name of a rendered config: a hash over the exact bytes of its spec.
 *
 * MD5 identifies contents here and protects nothing; another hash would rename every cluster's
 * configs, and with them reboot every node.
 *
 * @see MCO pkg/controller/render/hash.go (7ff337a4)
 */

import { encodeUtf8 } from '../encoding/utf8';
import { fail, messageOf } from '../errors';
import type { RenderPorts } from '../ignition';
import { toYaml, type YamlValue } from '../yaml/write-yaml';
import type { RenderedSpec } from './types';

/** 80 bytes that go before the text, the same in every cluster. */
const SALT = [
  '107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734',
  'db830cceda8d7487bcb5c097e93e7ea54053b3770fa8d0c5926b3ae385bcee1a',
  '211aebca20ad1fea2990944f06ce1716',
].join('');

const SALT_BYTES = Uint8Array.from({ length: SALT.length / 2 }, (_, i) =>
  parseInt(SALT.slice(2 * i, 2 * i + 2), 16),
);

/**
 * The text that is hashed.
 *
 * @throws InvalidMachineConfig for control characters, which YAML cannot hold
 */
export function specYaml(spec: RenderedSpec): string {
  try {
    return toYaml(spec as unknown as YamlValue);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw fail('InvalidMachineConfig', `error converting JSON to YAML: ${messageOf(error)}`);
  }
}

/** `rendered-<pool>-<32 hexadecimal digits>`. */
export function renderedName(
  pool: string,
  yaml: string,
  ports: Pick<RenderPorts, 'md5Hex'>,
): string {
  const text = encodeUtf8(yaml);
  const salted = new Uint8Array(SALT_BYTES.length + text.length);
  salted.set(SALT_BYTES);
  salted.set(text, SALT_BYTES.length);
  return `rendered-${pool}-${ports.md5Hex(salted)}`;
}
