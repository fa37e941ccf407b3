/** The MachineConfigs of a pool: `00-<pool>`, `01-<pool>-kubelet`, `01-<pool>-container-runtime`. */

import { generatedMachineConfig } from '../generated-configs';
import type { IgnitionFile, IgnitionUnit, MachineConfig } from '../machine-config/types';
import { ANNOTATION } from '../names';
import type { OwnerReference } from '../object-meta';
import { fileOf, type Made } from './file';
import type { Values } from './filler';
import { chosenTemplates, SUBJECTS, type Subject } from './layers';
import type { TemplatePool } from './pools';
import type { TemplateFile, TemplateFinding, TemplatePorts } from './types';
import { unitOf } from './unit';

export interface TemplateInput {
  readonly files: readonly TemplateFile[];
  readonly flavour: string;
  readonly layers: readonly string[];
  /** Of the cluster. */
  readonly values: Values;
  readonly ports: TemplatePorts;
  readonly owner: OwnerReference;
  /** Of the controllers. */
  readonly version: string;
}

export interface FromTemplates {
  readonly configs: readonly MachineConfig[];
  readonly findings: readonly TemplateFinding[];
}

/** A subject without files and units has no MachineConfig. */
export function fromTemplates(input: TemplateInput, pool: TemplatePool): FromTemplates {
  const values = { ...input.values, flavour: input.flavour, pool: pool.name, role: pool.role };
  const findings: TemplateFinding[] = [];
  const writers = new Map<string, string>();
  const make = <T extends object>(
    templates: readonly TemplateFile[],
    of: (template: TemplateFile, values: Values, ports: TemplatePorts) => Made<T>,
    nameOf: (made: T) => string,
  ): readonly T[] =>
    templates.flatMap((template): readonly T[] => {
      const { made, findings: found } = of(template, values, input.ports);
      findings.push(...found);
      if (made === undefined) return [];
      findings.push(...clash(writers, nameOf(made), template));
      return [made];
    });
  const configs = SUBJECTS.flatMap((subject): readonly MachineConfig[] => {
    const of = (kind: 'files' | 'units') =>
      chosenTemplates(input.files, { subject, layers: input.layers, roles: pool.roles }, kind);
    const files = make(of('files'), fileOf, ({ path }) => path);
    const units = make(of('units'), unitOf, ({ name }) => name);
    return files.length + units.length === 0 ? [] : [configOf(input, pool, subject, files, units)];
  });
  return { configs, findings };
}

/** MachineConfigs are merged: the second file of a path would replace the first without a word. */
function clash(
  writers: Map<string, string>,
  what: string,
  { path }: TemplateFile,
): readonly TemplateFinding[] {
  const before = writers.get(what);
  writers.set(what, path);
  if (before === undefined) return [];
  const problem = `${what} is in the template ${before}, too`;
  const fix = 'put both into one, or give them the same name, so that the later layer replaces it';
  return [{ template: { file: path, line: 1 }, problem, fix }];
}

/** Of the MachineConfigs that a pool can have. */
export function generatedNames(pool: string): readonly string[] {
  return SUBJECTS.map((subject) => nameOf(pool, subject));
}

function nameOf(pool: string, subject: Subject): string {
  return subject === 'base' ? `00-${pool}` : `01-${pool}-${subject}`;
}

function configOf(
  { flavour, owner, version: controllerVersion }: TemplateInput,
  { name: pool }: TemplatePool,
  subject: Subject,
  files: readonly IgnitionFile[],
  units: readonly IgnitionUnit[],
): MachineConfig {
  return generatedMachineConfig({
    ...{ name: nameOf(pool, subject), pool, owner, controllerVersion },
    annotations: { [ANNOTATION.TEMPLATES]: flavour },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        ...(files.length === 0 ? {} : { storage: { files } }),
        ...(units.length === 0 ? {} : { systemd: { units } }),
      },
    },
  });
}
