/** One look at the ControllerConfig, the templates and the pools: what to write, and what to say. */

import { fewSentences } from '../few';
import {
  originOwner,
  storedConfig,
  type ConfigWrite,
  type GeneratedObject,
  type Origin,
  type Write,
} from '../generated-configs';
import { isSameHistory } from '../generated-configs/conditions';
import type { MachineConfig } from '../machine-config/types';
import { ANNOTATION, LABEL } from '../names';
import type { MachineConfigPool } from '../pool/types';
import { endedConditions, isFailing, runningConditions } from './conditions';
import { clusterFacts } from './facts';
import { findingText } from './filler';
import { layersOf, misplaced } from './layers';
import { fromTemplates, generatedNames, type FromTemplates } from './machine-configs';
import { templatePools } from './pools';
import type { TemplateFinding, TemplateFolder, TemplatePorts } from './types';

const OWNER = { kind: 'ControllerConfig' };

export interface TemplatePicture {
  /** Absent = none, or without the annotation: nothing is generated. */
  readonly controllerConfig: Origin | undefined;
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly templates: TemplateFolder;
  readonly ports: TemplatePorts;
  /** Of the controllers, on what they generate. */
  readonly version: string;
  /** RFC 3339. */
  readonly now: string;
}

export interface TemplateObject extends GeneratedObject {
  readonly findings: readonly TemplateFinding[];
  /** Which change nothing. */
  readonly warnings: readonly TemplateFinding[];
}

export interface TemplateLook {
  /** The ControllerConfig, or none. */
  readonly objects: readonly TemplateObject[];
  readonly cluster: readonly ConfigWrite[];
}

export function lookAtTemplates(picture: TemplatePicture): TemplateLook {
  const { controllerConfig: origin } = picture;
  const flavour = origin?.metadata.annotations?.[ANNOTATION.TEMPLATES];
  const isGone = origin?.metadata.deletionTimestamp !== undefined;
  if (origin === undefined || flavour === undefined || isGone) return { objects: [], cluster: [] };
  const { configs, findings, warnings } = generated(picture, origin, flavour);
  const taken = findings.length === 0 ? takenNames(picture, origin, configs) : [];
  const all = [...findings, ...taken];
  const refusedBy = (says: string) => withStatus(picture, origin, { writes: [], problem: says });
  if (all.length > 0) {
    const problem = fewSentences(all.map(findingText));
    const writes = withStatus(picture, origin, { writes: [], problem });
    return {
      objects: [{ origin, writes, refusedBy, problem, findings: all, warnings }],
      cluster: [],
    };
  }
  const writes = withStatus(picture, origin, { writes: configWrites(picture, origin, configs) });
  return { objects: [{ origin, writes, refusedBy, findings: [], warnings }], cluster: [] };
}

/** Nothing of a pool is generated when anything of any pool cannot be. */
function generated(
  { templates, ports, pools, version }: TemplatePicture,
  origin: Origin,
  flavour: string,
): FromTemplates & { readonly warnings: readonly TemplateFinding[] } {
  const facts = clusterFacts(origin);
  const { warnings } = facts;
  if ('problem' in templates) {
    const path = ['metadata', 'annotations', ANNOTATION.TEMPLATES];
    const fix = 'correct the setting templatesDir of the controllers, or take the annotation off';
    return { configs: [], findings: [{ path, problem: templates.problem, fix }], warnings };
  }
  const { files } = templates;
  const chosen = layersOf(flavour, files, ports.readYaml);
  if ('findings' in chosen)
    return { configs: [], findings: [...facts.findings, ...chosen.findings], warnings };
  const input = {
    ...{ files, flavour, layers: chosen.layers, values: facts.values, ports, version },
    owner: originOwner(OWNER, origin.metadata),
  };
  const parts = templatePools(pools).map((pool) => fromTemplates(input, pool));
  const findings = distinct([
    ...facts.findings,
    ...misplaced(files),
    // A value that is refused is missing in every template: that follows from the refusal.
    ...(facts.findings.length > 0 ? [] : parts.flatMap((part) => part.findings)),
  ]);
  return { configs: parts.flatMap(({ configs }) => configs), findings, warnings };
}

/** Several pools have the same templates. */
function distinct(findings: readonly TemplateFinding[]): readonly TemplateFinding[] {
  return [...new Map(findings.map((finding) => [findingText(finding), finding])).values()];
}

/** MachineConfigs that a person or another controller keeps under the names. */
function takenNames(
  { machineConfigs }: TemplatePicture,
  { metadata: { annotations = {} } }: Origin,
  configs: readonly MachineConfig[],
): readonly TemplateFinding[] {
  if (annotations[ANNOTATION.TAKE_OVER] === 'true') return [];
  const names = new Set(configs.map(({ metadata }) => metadata.name));
  return machineConfigs
    .filter((config) => names.has(config.metadata.name) && !isOurs(config))
    .map(({ metadata }) => ({
      path: ['metadata', 'annotations', ANNOTATION.TEMPLATES],
      problem: `machineconfig ${metadata.name} exists, and these templates did not generate it`,
      fix: `rename it to keep its files, or set the annotation ${ANNOTATION.TAKE_OVER} to "true" to replace it`,
    }));
}

function isOurs({ metadata }: MachineConfig): boolean {
  return metadata.annotations?.[ANNOTATION.TEMPLATES] !== undefined;
}

/** A person's copy has the annotation, too, and may have the owner: it has another name or role. */
function isGeneratedFor(config: MachineConfig, origin: Origin): boolean {
  const { name, labels = {}, ownerReferences = [] } = config.metadata;
  const role = labels[LABEL.ROLE];
  if (role === undefined || !isOurs(config) || !generatedNames(role).includes(name)) return false;
  const { uid = '' } = origin.metadata;
  return ownerReferences.some((owner) => owner.kind === OWNER.kind && owner.uid === uid);
}

/** Creates, puts right, and removes those of pools and subjects that are gone. */
function configWrites(
  { machineConfigs }: TemplatePicture,
  origin: Origin,
  configs: readonly MachineConfig[],
): readonly ConfigWrite[] {
  const known = new Map(machineConfigs.map((config) => [config.metadata.name, config]));
  const names = new Set(configs.map(({ metadata }) => metadata.name));
  const gone = machineConfigs.filter(
    (config) => isGeneratedFor(config, origin) && !names.has(config.metadata.name),
  );
  return [
    ...configs.flatMap((config) => storedConfig(known.get(config.metadata.name), config)),
    ...gone.map(({ metadata }): ConfigWrite => ({ do: 'remove', name: metadata.name })),
  ];
}

/**
 * The writes of MachineConfigs between two of the status; without any, the status alone, and nothing
 * when the object says so already.
 */
function withStatus(
  { version, now }: TemplatePicture,
  { metadata: { generation = 0 }, status = {} }: Origin,
  { writes, problem }: { readonly writes: readonly ConfigWrite[]; readonly problem?: string },
): readonly Write[] {
  const { conditions = [], observedGeneration } = status;
  const sync = { generation, version, now };
  const said = (after: typeof conditions): Write => ({
    do: 'status',
    conditions: after,
    observedGeneration: generation,
  });
  const ended = endedConditions(conditions, problem, sync);
  if (writes.length > 0) {
    // Otherwise an API server that refuses them would be told of each try.
    if (isFailing(conditions)) return [...writes, said(ended)];
    const running = runningConditions(conditions, observedGeneration, sync);
    return [said(running), ...writes, said(ended)];
  }
  const isSaid = observedGeneration === generation && isSameHistory(conditions, ended);
  return isSaid ? [] : [said(ended)];
}
