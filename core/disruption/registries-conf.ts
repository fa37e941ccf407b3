/**
 * `registries.conf` is the only file whose content decides about a drain: some changes affect no
 * running pod and no image reference that a kubelet may still need.
 */

import { REGISTRIES_CONF } from '../containers-files';
import { decodeDataUrl } from '../encoding';
import { fail, messageOf } from '../errors';
import type { IgnitionConfig } from '../machine-config/types';

export interface ContentPorts {
  /** A TOML 1.0 document as plain values; throws for anything else. */
  parseToml(text: string): unknown;
  /** Throws when the bytes are not gzip. */
  gunzip(bytes: Uint8Array): Uint8Array;
}

/** Whether a change of `registries.conf` can be applied under running pods, or why not. */
type RegistriesVerdict =
  { readonly harmless: true } | { readonly harmless: false; readonly reason: string };

interface Endpoint {
  readonly location: string;
  readonly insecure: boolean;
  readonly pullFromMirror: string;
}

interface Registry extends Endpoint {
  readonly prefix: string;
  readonly blocked: boolean;
  readonly mirrorByDigestOnly: boolean;
  readonly mirrors: readonly Endpoint[];
}

interface RegistriesConf {
  readonly searchRegistries: readonly string[];
  /** By prefix, or by location without one; a later entry of the same scope wins. */
  readonly registries: ReadonlyMap<string, Registry>;
}

const DIGEST_ONLY = 'digest-only';

/**
 * Judges the change of `registries.conf` between two configs; a missing file is an empty one.
 *
 * A change is harmless when it cannot change the image that a reference means: search registries
 * appended at the end, new registries and mirrors that serve digests only, a mirror narrowed to
 * digests.
 *
 * @throws `InvalidMachineConfig` when either content cannot be read or is not TOML
 * @see MCO pkg/daemon/drain.go, isSafeContainerRegistryConfChanges (7ff337a4)
 */
export function judgeRegistriesChange(
  old: IgnitionConfig,
  desired: IgnitionConfig,
  ports: ContentPorts,
): RegistriesVerdict {
  // Both contents are decoded before either is parsed; MCO's error for the second lacks the colon.
  const oldText = readText(old, ports, ': ');
  const newText = readText(desired, ports, ' ');
  const before = parseRegistriesConf(oldText, ports);
  const after = parseRegistriesConf(newText, ports);
  const reason =
    searchHarm(before.searchRegistries, after.searchRegistries) ??
    removedRegistry(before, after) ??
    firstHarm([...after.registries], ([scope, registry]) => {
      const previous = before.registries.get(scope);
      return previous === undefined
        ? newRegistryHarm(scope, registry)
        : changedRegistryHarm(scope, previous, registry);
    });
  return reason === undefined ? { harmless: true } : { harmless: false, reason };
}

function searchHarm(before: readonly string[], after: readonly string[]): string | undefined {
  // A short name is looked up in the order of the list.
  const appended = before.every((registry, i) => after[i] === registry);
  return appended ? undefined : 'unqualified-search-registries changed other than at the end';
}

function removedRegistry(before: RegistriesConf, after: RegistriesConf): string | undefined {
  const gone = [...before.registries.keys()].find((scope) => !after.registries.has(scope));
  return gone === undefined ? undefined : `registry ${gone} is removed`;
}

function newRegistryHarm(scope: string, registry: Registry): string | undefined {
  const digestOnly =
    registry.mirrors.length === 0
      ? registry.mirrorByDigestOnly
      : registry.mirrors.every((mirror) => mirror.pullFromMirror === DIGEST_ONLY);
  return digestOnly ? undefined : `registry ${scope} is new and not limited to digests`;
}

function changedRegistryHarm(scope: string, old: Registry, now: Registry): string | undefined {
  // Equal entries are harmless, even where a literal reading of the rules below objects.
  if (JSON.stringify(old) === JSON.stringify(now)) return undefined;
  const fields = ['prefix', 'location', 'blocked', 'insecure'] as const;
  const field = fields.find((name) => old[name] !== now[name]);
  if (field !== undefined) return `${field} of registry ${scope} changed`;
  const gone = old.mirrors.find((mirror) => findMirror(now, mirror.location) === undefined);
  if (gone !== undefined) return `mirror ${gone.location} of registry ${scope} is removed`;
  return firstHarm(now.mirrors, (mirror) => mirrorHarm(scope, old, now, mirror));
}

function mirrorHarm(
  scope: string,
  old: Registry,
  now: Registry,
  mirror: Endpoint,
): string | undefined {
  if (mirror.pullFromMirror === DIGEST_ONLY) return undefined;
  const previous = findMirror(old, mirror.location);
  if (previous === undefined) {
    if (now.mirrorByDigestOnly) return undefined;
    return `mirror ${mirror.location} of registry ${scope} is new and not limited to digests`;
  }
  if (previous.pullFromMirror === mirror.pullFromMirror) return undefined;
  return `pull-from-mirror of mirror ${mirror.location} of registry ${scope} changed`;
}

function findMirror(registry: Registry, location: string): Endpoint | undefined {
  return registry.mirrors.find((mirror) => mirror.location === location);
}

function firstHarm<T>(
  entries: readonly T[],
  judge: (entry: T) => string | undefined,
): string | undefined {
  for (const entry of entries) {
    const reason = judge(entry);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function parseRegistriesConf(text: string, ports: ContentPorts): RegistriesConf {
  let root: Reader;
  try {
    root = readerOf('', ports.parseToml(text));
  } catch (error) {
    throw notToml(parserFault(error));
  }
  const registries = root.list('registry').map(registryOf);
  return {
    searchRegistries: root.texts('unqualified-search-registries'),
    registries: new Map(
      registries.map((registry) => [
        registry.prefix === '' ? registry.location : registry.prefix,
        registry,
      ]),
    ),
  };
}

/** The parser's message with line and column, without the lines that it quotes from the file. */
function parserFault(error: unknown): string {
  const { line, column } = error as { readonly line?: number; readonly column?: number };
  const [reason = ''] = messageOf(error).split('\n');
  return `line ${line}, column ${column}: ${reason.replace(/^Invalid TOML document: /, '')}`;
}

function notToml(fault: string): Error {
  const subject = `failed decoding TOML content from file ${REGISTRIES_CONF}`;
  return fail('InvalidMachineConfig', `${subject}: toml: ${fault}`);
}

function readText(config: IgnitionConfig, ports: ContentPorts, separator: string): string {
  const file = config.storage?.files?.find(
    ({ path, contents }) => path === REGISTRIES_CONF && contents?.source !== undefined,
  );
  if (file?.contents?.source === undefined) return '';
  const decoded = decodeDataUrl(file.contents.source);
  if (decoded.error !== undefined) {
    throw fail(
      'InvalidMachineConfig',
      `failed decoding Data URL scheme string${separator}${decoded.error}`,
    );
  }
  const { bytes } = decoded;
  const plain = file.contents.compression === 'gzip' ? unzip(bytes, ports) : bytes;
  return Buffer.from(plain).toString();
}

function unzip(bytes: Uint8Array, ports: ContentPorts): Uint8Array {
  try {
    return ports.gunzip(bytes);
  } catch (error) {
    throw fail(
      'InvalidMachineConfig',
      `contents of file ${REGISTRIES_CONF} are not gzip although compression says so: ${messageOf(error)}`,
    );
  }
}

function registryOf(table: Reader): Registry {
  return {
    ...endpointOf(table),
    prefix: table.text('prefix'),
    blocked: table.flag('blocked'),
    mirrorByDigestOnly: table.flag('mirror-by-digest-only'),
    mirrors: table.list('mirror').map(endpointOf),
  };
}

function endpointOf(table: Reader): Endpoint {
  return {
    location: table.text('location'),
    insecure: table.flag('insecure'),
    pullFromMirror: table.text('pull-from-mirror'),
  };
}

/** An absent field is empty, a field of the wrong type is refused. */
interface Reader {
  text(name: string): string;
  texts(name: string): readonly string[];
  flag(name: string): boolean;
  list(name: string): readonly Reader[];
}

function readerOf(path: string, table: unknown): Reader {
  const fields: Readonly<Record<string, unknown>> =
    typeof table === 'object' && table !== null ? { ...table } : {};
  const keyOf = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const expect = <T>(name: string, value: unknown, empty: T, expected: string): T => {
    if (value === undefined) return empty;
    if (typeof value === typeof empty && Array.isArray(value) === Array.isArray(empty)) {
      return value as T;
    }
    throw notToml(`${keyOf(name)}: expected ${expected}, found ${typeOf(value)}`);
  };
  const entries = (name: string): readonly unknown[] => expect(name, fields[name], [], 'array');
  return {
    text: (name) => expect(name, fields[name], '', 'string'),
    texts: (name) => entries(name).map((entry) => expect(name, entry, '', 'string')),
    flag: (name) => expect(name, fields[name], false, 'boolean'),
    list: (name) =>
      entries(name).map((entry) => readerOf(keyOf(name), expect(name, entry, {}, 'table'))),
  };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'object' ? 'table' : typeof value;
}
