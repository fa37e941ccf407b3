/** A MachineConfig with its Ignition config, which is parsed only once. */

import {
  convertIgnition,
  parseIgnition,
  readRawIgnition,
  type IgnitionObject,
  type ParsedIgnition,
  type RawIgnition,
  type RenderPorts,
} from '../ignition';
import { withoutNulls } from './nulls';
import type { MachineConfig } from './types';

export class Source {
  readonly machineConfig: MachineConfig;
  /** Absent = the MachineConfig has no `config`. */
  readonly raw: RawIgnition | undefined;
  #parsed: ParsedIgnition | undefined;
  #converted: IgnitionObject | undefined;

  /** @throws InvalidIgnition when `config` is a text that holds no JSON */
  constructor(machineConfig: MachineConfig, ports: Pick<RenderPorts, 'gunzip'>) {
    this.machineConfig = withoutNulls(machineConfig);
    this.raw = readRawIgnition(machineConfig.spec.config, ports);
  }

  get name(): string {
    return this.machineConfig.metadata.name;
  }

  /** The config in its own specification. @throws InvalidIgnition */
  parsed(raw: RawIgnition): ParsedIgnition {
    this.#parsed ??= parseIgnition(raw);
    return this.#parsed;
  }

  /** The config in 3.5, undefined when there is none. @throws InvalidIgnition */
  ignition(): IgnitionObject | undefined {
    if (this.raw === undefined) return undefined;
    this.#converted ??= convertIgnition(this.parsed(this.raw));
    return this.#converted;
  }
}
