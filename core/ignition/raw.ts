/** Raw configs: an object (from the API), a text (JSON, or base 64 and gzip of it), or bytes. */

import { decodeBase64 } from '../encoding/base64';
import { goJson } from '../encoding/go-json';
import { fail, messageOf } from '../errors';

export interface RenderPorts {
  /** Throws when the bytes are no gzip stream. */
  gunzip(bytes: Uint8Array): Uint8Array;
}

export interface RawIgnition {
  readonly value: unknown;
  /** The JSON text that positions in messages refer to. */
  text(): string;
}

/**
 * Reads a config. Objects stand for their compact JSON text, as the API server sends them.
 *
 * @returns undefined for an absent config (also `null`)
 * @throws InvalidIgnition when a text or bytes hold no JSON
 */
export function readRawIgnition(
  config: unknown,
  ports: Pick<RenderPorts, 'gunzip'>,
): RawIgnition | undefined {
  if (config === undefined || config === null) return undefined;
  if (typeof config === 'string') return fromText(config, ports);
  if (config instanceof Uint8Array) return fromBytes(config, ports);
  return { value: config, text: () => goJson(config) };
}

function fromText(text: string, ports: Pick<RenderPorts, 'gunzip'>): RawIgnition {
  if (/^\s*[{["]/.test(text)) return fromJson(text);
  const decoded = decodeBase64(text.trim());
  if ('error' in decoded) {
    throw fail('InvalidIgnition', 'the config is a text that is neither JSON nor base64');
  }
  return fromBytes(decoded.bytes, ports);
}

function fromBytes(bytes: Uint8Array, ports: Pick<RenderPorts, 'gunzip'>): RawIgnition {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return fromJson(Buffer.from(bytes).toString());
  let plain: Uint8Array;
  try {
    plain = ports.gunzip(bytes);
  } catch (error) {
    throw fail('InvalidIgnition', `the config cannot be gunzipped: ${messageOf(error)}`);
  }
  return fromJson(Buffer.from(plain).toString());
}

function fromJson(text: string): RawIgnition {
  try {
    return { value: JSON.parse(text) as unknown, text: () => text };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The engine's message quotes the text, which may hold secrets.
    throw fail('InvalidIgnition', 'the config is not valid JSON');
  }
}
