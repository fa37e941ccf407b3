/**
 * Takes the contents out of a MachineConfig: files, units, keys, password hashes. Names, paths, modes, owners, sizes
 * and fingerprints stay, so that a person sees what differs.
 */

import { decodeDataUrl } from '../encoding';
import { messageOf } from '../errors';
import { readRawIgnition, type RenderPorts } from '../ignition';
import { isRecord } from '../is-record';
import { GONE, redactText } from './text';

export interface IgnitionPorts extends RenderPorts {
  /** Equal for equal contents, and of no use to who guesses contents. */
  fingerprint(contents: Uint8Array): string;
}

/** Texts that are no contents. Everything else may be, also in a field of a later version. */
const KEPT = new Set([
  ...['path', 'name', 'version', 'hash', 'compression', 'target', 'filesystem'],
  ...['device', 'devices', 'format', 'level', 'label', 'typeGuid', 'guid', 'shell', 'homeDir'],
  ...['primaryGroup', 'groups', 'mountOptions'],
]);

export function redactIgnition(config: unknown, ports: IgnitionPorts, name = ''): unknown {
  if (typeof config === 'string') return redactLeaf(config, name, ports);
  if (Array.isArray(config)) return config.map((item) => redactIgnition(item, ports, name));
  if (!isRecord(config)) return config;
  return Object.fromEntries(
    Object.entries(config).map(([key, inner]) => [key, redactIgnition(inner, ports, key)]),
  );
}

function redactLeaf(text: string, name: string, ports: IgnitionPorts): string {
  if (text === '') return '';
  if (KEPT.has(name)) return redactText(text);
  if (name === 'shouldExist' || name === 'shouldNotExist') return redactArgument(text, ports);
  const decoded = name === 'source' ? decodeDataUrl(text) : undefined;
  if (decoded === undefined || decoded.error !== undefined) {
    return described(`${text.length} characters`, Buffer.from(text), ports);
  }
  return described(`${decoded.bytes.length} bytes`, decoded.bytes, ports);
}

/** Of a kernel argument only the name stays. */
function redactArgument(argument: string, ports: IgnitionPorts): string {
  const at = argument.indexOf('=');
  if (at < 0) return redactText(argument);
  const value = argument.slice(at + 1);
  const shown = described(`${value.length} characters`, Buffer.from(value), ports);
  return `${redactText(argument.slice(0, at))}=${shown}`;
}

function described(size: string, contents: Uint8Array, ports: IgnitionPorts): string {
  return `(redacted: ${size}, fingerprint ${ports.fingerprint(contents)})`;
}

/** @param others - takes secrets out of the fields that are not Ignition */
export function redactMachineConfigSpec(
  spec: unknown,
  ports: IgnitionPorts,
  others: (value: unknown) => unknown,
): unknown {
  if (!isRecord(spec)) return GONE;
  const { config, kernelArguments, ...rest } = spec;
  return {
    ...(others(rest) as object),
    ...(config === undefined ? {} : { config: redactRaw(config, ports) }),
    ...(kernelArguments === undefined
      ? {}
      : { kernelArguments: redactArguments(kernelArguments, ports) }),
  };
}

function redactArguments(list: unknown, ports: IgnitionPorts): unknown {
  if (!Array.isArray(list)) return GONE;
  return list.map((one) => (typeof one === 'string' ? redactArgument(one, ports) : GONE));
}

function redactRaw(config: unknown, ports: IgnitionPorts): unknown {
  try {
    return redactIgnition(readRawIgnition(config, ports)?.value, ports);
  } catch (error) {
    return `${GONE}: ${messageOf(error)}`;
  }
}
