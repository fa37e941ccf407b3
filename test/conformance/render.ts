import { messageOf } from '../../core/errors';
import {
  renderMachineConfig,
  type RenderControllerConfig,
  type RenderedMachineConfig,
} from '../../core/machine-config/render';
import type { MachineConfig, MachineConfigSpec } from '../../core/machine-config/types';
import { ANNOTATION, LABEL } from '../../core/names';
import { casesOf, isJsonObject, type ConformanceKind, type JsonObject } from './kind';
import { nodePorts } from './render-ports';

/** The ControllerConfig of all observed cases. */
const CONTROLLER: RenderControllerConfig = {
  baseOSContainerImage: `quay.io/x/os@sha256:${'1'.padStart(64, '0')}`,
  baseOSExtensionsContainerImage: `quay.io/x/ext@sha256:${'2'.padStart(64, '0')}`,
  releaseVersion: '4.99.0',
  controllerVersion: 'was-not-built-properly',
};

export const renderKind: ConformanceKind = {
  name: 'render-merge-hash',
  matches: (file) => {
    const input = casesOf(file)?.[0]?.['input'];
    return isJsonObject(input) && 'in' in input;
  },
  cases: (file) =>
    (casesOf(file) ?? []).map((testCase) => {
      const input = testCase['input'] as JsonObject;
      const name = String(input['name']);
      return {
        name,
        run: () => ({ expected: testCase['expected'], actual: { name, ...answer(input) } }),
      };
    }),
};

function answer(input: JsonObject): JsonObject {
  try {
    return shape(render(input));
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function shape(rendered: RenderedMachineConfig): JsonObject {
  const { name, spec, annotations, specYaml } = rendered;
  return { renderedName: name, spec, specYAMLHashed: specYaml, annotations };
}

function render(input: JsonObject): RenderedMachineConfig {
  const pool = String(input['pool']);
  const current = input['current'] === undefined ? {} : { current: renderedOf(pool, input) };
  return renderMachineConfig({
    pool,
    sources: machineConfigs(input['in']),
    controllerConfig: CONTROLLER,
    ports: nodePorts,
    ...current,
  });
}

/** The pool's present config, rendered from the case's `current`, as on a new pool. */
function renderedOf(pool: string, input: JsonObject): MachineConfig {
  const { name, spec, annotations } = renderMachineConfig({
    pool,
    sources: machineConfigs(input['current']),
    controllerConfig: CONTROLLER,
    ports: nodePorts,
  });
  return { metadata: { name, annotations }, spec };
}

function machineConfigs(list: unknown): readonly MachineConfig[] {
  return (list as readonly JsonObject[]).map(machineConfig);
}

/**
 * Expands the short form: `role` and `generated` are metadata, all other keys the spec. Without role and labels
 * there is no map of labels.
 */
function machineConfig(short: JsonObject): MachineConfig {
  const { name, role, generated, config, labels, annotations, ...spec } = short;
  const given = labels as Readonly<Record<string, string>> | null | undefined;
  const hasRole = typeof role === 'string' && role !== '';
  const all = hasRole ? { ...given, [LABEL.ROLE]: role } : given;
  return {
    metadata: {
      name: String(name),
      ...(all === null || all === undefined ? {} : { labels: all }),
      annotations: {
        ...(annotations as object),
        ...(generated === true
          ? { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: CONTROLLER.controllerVersion }
          : {}),
      },
    },
    spec: {
      ...(spec as MachineConfigSpec),
      ...(config === undefined || config === null ? {} : { config: asObserved(config) }),
    },
  };
}

/**
 * The observed JSON text, because positions in error messages refer to it. The inputs were in a file with one
 * space of indentation, four levels deep.
 */
function asObserved(config: unknown): unknown {
  if (!isJsonObject(config)) return config;
  return JSON.stringify(config, null, 1).replaceAll('\n', `\n${' '.repeat(4)}`);
}
