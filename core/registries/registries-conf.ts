/** `registries.conf`: the base file of the role, read, edited and written as MCO does. */

import { messageOf } from '../errors';
import {
  readToml,
  tomlEntry,
  tomlTable,
  tomlTables,
  toToml,
  type TomlFields,
  type TomlPort,
  type TomlTable,
} from '../toml';

export interface Endpoint {
  /** Empty = none, which only a wildcard may have. */
  readonly location: string;
  readonly insecure: boolean;
  /** Of a mirror: `digest-only`, `tag-only`, `all` or empty. */
  readonly pullFromMirror: string;
}

export interface Registry extends Endpoint {
  /** Empty = the location. */
  readonly prefix: string;
  readonly blocked: boolean;
  readonly mirrorByDigestOnly: boolean;
  readonly mirrors: readonly Endpoint[];
}

export interface RegistriesConf {
  readonly registries: readonly Registry[];
  readonly searchRegistries?: readonly string[];
  readonly credentialHelpers?: readonly string[];
  readonly shortNameMode: string;
  readonly layerStoreAuthHelper: string;
  readonly aliases?: ReadonlyMap<string, string>;
}

export const EMPTY_CONF: RegistriesConf = {
  registries: [],
  shortNameMode: '',
  layerStoreAuthHelper: '',
};

/** The scope that a registry is for. */
export function scopeOf({ prefix, location }: Registry): string {
  return prefix === '' ? location : prefix;
}

/**
 * @param text - TOML; unknown fields are lost
 * @throws Error in MCO's words when it cannot be read
 * @see containers/image pkg/sysregistriesv2, V2RegistriesConf
 */
export function parseRegistriesConf(text: string, port: TomlPort): RegistriesConf {
  try {
    return readToml(text, port, confOf);
  } catch (error) {
    throw new Error(`error unmarshalling registries config: ${messageOf(error)}`, { cause: error });
  }
}

function confOf(fields: TomlFields): RegistriesConf {
  const searchRegistries = fields.texts('unqualified-search-registries');
  const credentialHelpers = fields.texts('credential-helpers');
  const aliases = fields.textTable('aliases');
  return {
    registries: (fields.tables('registry') ?? []).map(registryOf),
    ...(searchRegistries === undefined ? {} : { searchRegistries }),
    ...(credentialHelpers === undefined ? {} : { credentialHelpers }),
    shortNameMode: fields.text('short-name-mode') ?? '',
    layerStoreAuthHelper: fields.text('additional-layer-store-auth-helper') ?? '',
    ...(aliases === undefined ? {} : { aliases }),
  };
}

function registryOf(fields: TomlFields): Registry {
  return {
    ...endpointOf(fields),
    prefix: fields.text('prefix') ?? '',
    blocked: fields.flag('blocked') ?? false,
    mirrorByDigestOnly: fields.flag('mirror-by-digest-only') ?? false,
    mirrors: (fields.tables('mirror') ?? []).map(endpointOf),
  };
}

function endpointOf(fields: TomlFields): Endpoint {
  return {
    location: fields.text('location') ?? '',
    insecure: fields.flag('insecure') ?? false,
    pullFromMirror: fields.text('pull-from-mirror') ?? '',
  };
}

export function registriesConfText(conf: RegistriesConf): string {
  return toToml([
    ...tomlEntry('unqualified-search-registries', conf.searchRegistries),
    ...tomlEntry('credential-helpers', conf.credentialHelpers),
    ...tomlEntry('short-name-mode', conf.shortNameMode),
    ...tomlEntry('additional-layer-store-auth-helper', conf.layerStoreAuthHelper),
    ...tomlTables('registry', conf.registries.map(registryTable)),
    ...(conf.aliases === undefined ? [] : tomlTable('aliases', aliasTable(conf.aliases))),
  ]);
}

function registryTable(registry: Registry): TomlTable {
  return [
    ...tomlEntry('prefix', registry.prefix),
    ...endpointTable(registry),
    ...tomlEntry('blocked', whenTrue(registry.blocked)),
    ...tomlEntry('mirror-by-digest-only', whenTrue(registry.mirrorByDigestOnly)),
    ...tomlTables('mirror', registry.mirrors.map(endpointTable)),
  ];
}

function endpointTable({ location, insecure, pullFromMirror }: Endpoint): TomlTable {
  return [
    ...tomlEntry('location', location === '' ? undefined : location),
    ...tomlEntry('insecure', whenTrue(insecure)),
    ...tomlEntry('pull-from-mirror', pullFromMirror === '' ? undefined : pullFromMirror),
  ];
}

function aliasTable(aliases: ReadonlyMap<string, string>): TomlTable {
  const names = [...aliases].sort(([a], [b]) => (a < b ? -1 : 1));
  return names.map(([key, value]) => ({ key, value }));
}

function whenTrue(flag: boolean): true | undefined {
  return flag ? true : undefined;
}
