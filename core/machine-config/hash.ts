/**
 * The name of a rendered config: a hash over the exact bytes of its spec.
 *
 * MD5 only identifies contents here; another hash would rename every cluster's configs and reboot
 * every node.
 *
 * @see MCO pkg/controller/render/hash.go (7ff337a4)
 */

import { createHash } from 'node:crypto';

import { fail, messageOf } from '../errors';
import { toYaml, type YamlValue } from '../yaml/write-yaml';
import type { RenderedSpec } from './types';

/** 80 bytes that go before the text, the same in every cluster. */
const SALT = Buffer.from(
  '107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734' +
    'db830cceda8d7487bcb5c097e93e7ea54053b3770fa8d0c5926b3ae385bcee1a' +
    '211aebca20ad1fea2990944f06ce1716',
  'hex',
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
export function renderedName(pool: string, yaml: string): string {
  return `rendered-${pool}-${createHash('md5').update(SALT).update(yaml).digest('hex')}`;
}
