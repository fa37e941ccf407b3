/**
 * What the kinds of generated MachineConfigs share: fixed context, keys of objects, and how a
 * MachineConfig is shown.
 */

import { decodeDataUrl } from '../../core/encoding';
import { isRecord } from '../../core/is-record';
import type { IgnitionConfig, IgnitionFile, MachineConfig } from '../../core/machine-config/types';
import type { LabelSelector, ObjectMeta } from '../../core/object-meta';
import type { Labels } from '../../core/selectors';
import {
  casesOf,
  isJsonObject,
  type ConformanceCase,
  type ConformanceKind,
  type JsonObject,
} from './kind';

export interface GivenContext {
  readonly storageConf: string;
  readonly registriesConf: string;
  readonly policyJSON: string;
  readonly controllerVersion: string;
  /** Only in files of registries. */
  readonly releaseImageDefault: string;
}

/** Throws when a text is missing. */
export function givenContext(context: JsonObject): GivenContext {
  return {
    storageConf: textOf(context, 'storageConf'),
    registriesConf: textOf(context, 'registriesConf'),
    policyJSON: textOf(context, 'policyJSON'),
    controllerVersion: textOf(context, 'controllerVersion'),
    releaseImageDefault:
      'releaseImageDefault' in context ? textOf(context, 'releaseImageDefault') : '',
  };
}

/** MCO's function → what answers like it. */
export type Handlers<C> = Readonly<
  Record<string, (input: JsonObject, context: C, expected: JsonObject) => unknown>
>;

/**
 * Files whose cases name a function of MCO. Throws at a function that has no handler.
 *
 * @param contextOf - reads the `context` of a file, which its cases share
 */
export function kindOfFunctions<C>(
  name: string,
  contextOf: (context: JsonObject) => C,
  handlers: Handlers<C>,
): ConformanceKind {
  return {
    name,
    matches: (file) =>
      (casesOf(file) ?? []).some(
        ({ input }) => isJsonObject(input) && Object.hasOwn(handlers, String(input['function'])),
      ),
    cases: (file) => {
      const given = isJsonObject(file) && isJsonObject(file['context']) ? file['context'] : {};
      const context = contextOf(given);
      return (casesOf(file) ?? []).map((entry, index): ConformanceCase => {
        const { name, input, expected } = entry;
        if (typeof name !== 'string' || !isJsonObject(input) || !isJsonObject(expected)) {
          throw new Error(`case ${index} has no name, no input or no expected`);
        }
        const run = () => handlerOf(handlers, input)(input, context, expected);
        return { name, run: () => ({ expected, actual: run() }) };
      });
    },
  };
}

function handlerOf<C>(handlers: Handlers<C>, input: JsonObject): Handlers<C>[string] {
  const name = textOf(input, 'function');
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler === undefined) throw new Error(`function ${name} has no handler`);
  return handler;
}

/** Throws at a key that is not in the list: a case that is partly ignored verifies nothing. */
export function knownKeys(what: string, given: JsonObject, keys: readonly string[]): void {
  const unknown = Object.keys(given).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw new Error(`${what}: unknown key ${unknown}`);
}

export function textOf(given: JsonObject, key: string): string {
  const value = given[key];
  if (typeof value !== 'string') throw new Error(`${key} is not a text`);
  return value;
}

/** An absent list is empty. Throws at an entry that is no text. */
export function textsOf(given: JsonObject, key: string): readonly string[] {
  const value = given[key] ?? [];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new Error(`${key} is not a list of texts`);
  }
  return value;
}

/** An absent list is empty. Throws at an entry that is no object. */
export function objectsOf(given: JsonObject, key: string): readonly JsonObject[] {
  const value = given[key] ?? [];
  if (!Array.isArray(value) || !value.every(isJsonObject)) {
    throw new Error(`${key} is not a list of objects`);
  }
  return value;
}

export interface GivenPool {
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly nodeSelector?: LabelSelector;
}

/** `pool` or `pools` of a case. */
export function poolsOf(input: JsonObject): readonly GivenPool[] {
  const { pool } = input;
  return (isJsonObject(pool) ? [pool] : objectsOf(input, 'pools')).map(poolOf);
}

export function poolOf(given: JsonObject): GivenPool {
  knownKeys('pool', given, ['name', 'uid', 'labels', 'nodeSelector']);
  const name = textOf(given, 'name');
  const { labels, nodeSelector } = given;
  return {
    name,
    uid: given['uid'] === undefined ? '' : textOf(given, 'uid'),
    labels: isJsonObject(labels) ? textMap(labels) : { [poolLabel(name)]: '' },
    ...(isJsonObject(nodeSelector) ? { nodeSelector } : {}),
  };
}

/** Every pool has it when the case gives no labels. */
export function poolLabel(pool: string): string {
  return `pools.operator.machineconfiguration.openshift.io/${pool}`;
}

/** Metadata of an object of a case; `age` is in seconds before a fixed time. */
export function metadataOf(given: JsonObject): ObjectMeta {
  const age = typeof given['age'] === 'number' ? given['age'] : 0;
  const annotations = given['annotations'];
  return {
    name: textOf(given, 'name'),
    ...(given['namespace'] === undefined ? {} : { namespace: textOf(given, 'namespace') }),
    ...(isJsonObject(annotations) ? { annotations: textMap(annotations) } : {}),
    ...(given['finalizers'] === undefined ? {} : { finalizers: textsOf(given, 'finalizers') }),
    creationTimestamp: new Date(Date.parse('2030-01-01T00:00:00Z') - age * 1000).toISOString(),
    generation: 1,
  };
}

function textMap(given: JsonObject): Labels {
  return Object.fromEntries(Object.keys(given).map((key) => [key, textOf(given, key)]));
}

interface ShownMachineConfig extends JsonObject {
  readonly name: string;
  readonly files: readonly ShownFile[];
}

interface ShownFile {
  readonly path: string;
  readonly mode: string | undefined;
  readonly overwrite: boolean | undefined;
  readonly contents: string;
}

/** As `expected.machineConfigs` shows it: no UIDs, an empty name left out. */
export function shownMachineConfig({ metadata, spec }: MachineConfig): ShownMachineConfig {
  const { ignition, storage } = ignitionOf(spec.config);
  const owner = metadata.ownerReferences?.[0];
  return {
    name: metadata.name,
    labels: metadata.labels ?? null,
    annotations: metadata.annotations ?? null,
    ownerReference: owner && {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      ...(owner.name === '' ? {} : { name: owner.name }),
      ...(owner.controller === undefined ? {} : { controller: owner.controller }),
    },
    ignitionVersion: ignition.version,
    ...(spec.kernelArguments === undefined ? {} : { kernelArguments: spec.kernelArguments }),
    files: (storage?.files ?? []).map(shownFile),
  };
}

function ignitionOf(config: unknown): IgnitionConfig {
  if (!isRecord(config) || !isRecord(config['ignition'])) throw new Error('no Ignition config');
  return config as unknown as IgnitionConfig;
}

function shownFile({ path, mode, overwrite, contents }: IgnitionFile): ShownFile {
  const decoded = decodeDataUrl(contents?.source ?? 'data:,');
  if (decoded.error !== undefined) throw new Error(`${path}: ${decoded.error}`);
  return {
    path,
    mode: mode === undefined ? undefined : `0${mode.toString(8)}`,
    overwrite,
    contents: Buffer.from(decoded.bytes).toString(),
  };
}
