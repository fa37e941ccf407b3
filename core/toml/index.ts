export { type TomlFields, type TomlPort } from './fields';
export { readToml } from './read-toml';
export { tomlEntry, tomlString, tomlTable, tomlTables, toToml, type TomlTable } from './write-toml';
