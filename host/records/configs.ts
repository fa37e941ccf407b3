/**
 * The host's records: its current config, the configs of an update in progress, and the results of
 * orders. Readable by root alone.
 */

import { isRecord } from '../../core/is-record';
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { fail } from '../../core/errors';
import { canonicalConfig } from '../../core/machine-config/canonical';
import { ROOT_OWNER } from '../../adapters/host';
import type { RenderedSpec } from '../../core/machine-config/types';
import { MCO_GROUP, MCO_VERSION } from '../../core/names';
import type { ConfigReference } from '../../workflows/contracts/host';
import { diskFailure } from '../disk-failure';
import type { Files } from '../ports';

/** MCO's, so that a host can change between MCO and Slipway. */
export const CURRENT_CONFIG_FILE = '/etc/machine-config-daemon/currentconfig';

const STATE_DIRECTORY = '/var/lib/slipway';
/** Canonical bytes of the config that is being applied. */
export const DESIRED_FILE = `${STATE_DIRECTORY}/desired.json`;
/** Canonical bytes of a current config that was fetched. */
const PREVIOUS_FILE = `${STATE_DIRECTORY}/previous.json`;

export interface HostConfig {
  readonly reference: ConfigReference;
  /** With every field filled in. */
  readonly spec: RenderedSpec;
  /** As read: the digest covers this. */
  readonly raw: unknown;
}

export function sameConfig(a: ConfigReference, b: ConfigReference): boolean {
  return a.name === b.name && a.digest === b.digest;
}

export function digestOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @throws `DigestMismatch` when the reference names other bytes */
export function readCanonical(bytes: Buffer, reference: ConfigReference): HostConfig {
  const digest = digestOf(bytes);
  if (digest !== reference.digest) {
    throw fail(
      'DigestMismatch',
      `config ${reference.name}: digest is ${digest.slice(0, 12)}…, ordered was ${reference.digest.slice(0, 12)}…`,
      { config: reference.name },
    );
  }
  const config = configIn(parseJson(bytes));
  if (config?.name !== reference.name) {
    throw fail('DigestMismatch', `config ${reference.name}: the bytes are not of this config`, {
      config: reference.name,
    });
  }
  return { reference, spec: config.spec, raw: config.raw };
}

/** Of a first boot, not ordered by digest. */
export function readUnordered(bytes: Buffer, name: string): HostConfig {
  return readCanonical(bytes, { name, digest: digestOf(bytes) });
}

/**
 * By its own record.
 *
 * @throws `ConfigDrift` when the record was changed
 */
export async function readCurrentConfig(files: Files): Promise<HostConfig | undefined> {
  const state = await files.look(CURRENT_CONFIG_FILE);
  if (state.kind === 'absent') return undefined;
  const parsed = state.kind === 'file' ? parseJson(state.content) : undefined;
  const config = configIn(isRecord(parsed) ? { ...parsed, name: nameIn(parsed) } : undefined);
  if (config === undefined) {
    throw fail('ConfigDrift', `${CURRENT_CONFIG_FILE} is not a MachineConfig`, {
      path: CURRENT_CONFIG_FILE,
    });
  }
  return { reference: referenceOf(config.name, config.raw), spec: config.spec, raw: config.raw };
}

export async function writeCurrentConfig(files: Files, config: HostConfig): Promise<void> {
  const object = {
    kind: 'MachineConfig',
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    metadata: { name: config.reference.name },
    spec: config.raw,
  };
  await writePrivate(files, CURRENT_CONFIG_FILE, JSON.stringify(object));
}

export async function readKeptConfig(
  files: Files,
  reference: ConfigReference,
): Promise<HostConfig | undefined> {
  for (const path of [DESIRED_FILE, PREVIOUS_FILE]) {
    const state = await files.look(path);
    if (state.kind !== 'file' || digestOf(state.content) !== reference.digest) continue;
    return readCanonical(state.content, reference);
  }
  return undefined;
}

/** Until the update is over. */
export async function keepConfig(
  files: Files,
  role: 'desired' | 'previous',
  config: HostConfig,
): Promise<void> {
  const path = role === 'desired' ? DESIRED_FILE : PREVIOUS_FILE;
  await writePrivate(files, path, canonicalText(config.reference.name, config.raw));
}

/** Configs have secrets, also in temporary files. */
export async function dropKeptConfigs(files: Files): Promise<void> {
  try {
    for (const path of [DESIRED_FILE, PREVIOUS_FILE]) {
      await files.sweep(path);
      await files.remove(path);
    }
  } catch (error) {
    throw diskFailure(error);
  }
}

/** Only root may read the file and its directories. */
export async function writePrivate(files: Files, path: string, text: string): Promise<void> {
  const parent = posix.dirname(path);
  try {
    const missing = (await files.facts(parent)).kind === 'absent' ? ancestors(path) : [];
    for (const directory of missing) {
      const mode = directory === STATE_DIRECTORY ? 0o700 : 0o755;
      await files.makeDirectory(directory, { mode, owner: ROOT_OWNER });
    }
    await files.writeFile(path, { content: Buffer.from(text), mode: 0o600, owner: ROOT_OWNER });
  } catch (error) {
    throw diskFailure(error);
  }
}

/** Undefined when the file is missing or damaged. */
export async function readPrivate(files: Pick<Files, 'look'>, path: string): Promise<unknown> {
  const state = await files.look(path);
  return state.kind === 'file' ? parseJson(state.content) : undefined;
}

/** Parent directories, outermost first, without the root. */
export function ancestors(path: string): readonly string[] {
  const found: string[] = [];
  for (let at = posix.dirname(path); at !== '/'; at = posix.dirname(at)) found.unshift(at);
  return found;
}

function referenceOf(name: string, raw: unknown): ConfigReference {
  return { name, digest: digestOf(canonicalText(name, raw)) };
}

function canonicalText(name: string, raw: unknown): string {
  return canonicalConfig({ metadata: { name }, spec: raw as RenderedSpec });
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as Error).name === 'SyntaxError') return undefined;
    throw error;
  }
}

/** The fields that a host relies on; the digest verifies the rest. */
function configIn(value: unknown): { name: string; spec: RenderedSpec; raw: unknown } | undefined {
  if (!isRecord(value) || typeof value['name'] !== 'string') return undefined;
  const spec = value['spec'];
  if (!isRecord(spec) || !isRecord(spec['config'])) return undefined;
  const filled = {
    osImageURL: '',
    baseOSExtensionsContainerImage: '',
    kernelArguments: [],
    extensions: [],
    fips: false,
    kernelType: '',
  };
  // A record may lack empty fields. Filling them in must not change its digest, hence `raw`.
  const missing = Object.entries(filled).filter(
    ([key]) => spec[key] === undefined || spec[key] === null,
  );
  return {
    name: value['name'],
    spec: { ...spec, ...Object.fromEntries(missing) } as unknown as RenderedSpec,
    raw: spec,
  };
}

function nameIn(value: Readonly<Record<string, unknown>>): unknown {
  return isRecord(value['metadata']) ? value['metadata']['name'] : undefined;
}
