/** MachineConfigs that the controllers would generate from templates. */

import { readYaml } from '../../adapters/manifests';
import { fillTemplate } from '../../adapters/templates';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { ANNOTATION } from '../../core/names';
import { lookAtTemplates, type TemplateFinding } from '../../core/templates';
import type { Findings } from './findings';
import {
  controllerConfigOf,
  NO_TIME,
  type GeneratedInput,
  type GeneratedOffline,
} from './generated-input';

/** Also with findings, which then are its only result. */
export function fromTemplatesOffline(
  input: GeneratedInput,
  findings: Findings,
): readonly GeneratedOffline[] {
  const { objects, pools, configs, version, templates } = input;
  const controllerConfig = controllerConfigOf(input);
  const { objects: looks } = lookAtTemplates({
    ...{ controllerConfig, pools, machineConfigs: configs, templates, version },
    ports: { fill: fillTemplate, readYaml },
    now: NO_TIME,
  });
  const source = objects.written('ControllerConfig', CONTROLLER_CONFIG);
  return looks.flatMap(({ writes, findings: found, warnings }) => {
    if (source !== undefined) {
      for (const one of found) findings.error(source, ...placed(one));
      for (const one of warnings) findings.warning(source, ...placed(one));
    }
    return writes.flatMap((write) => ('config' in write ? [{ config: write.config, source }] : []));
  });
}

/** A template is no manifest: the annotation that names the flavour leads to it. */
function placed({
  path,
  template,
  problem,
  fix,
}: TemplateFinding): [path: TemplateFinding['path'] & object, problem: string, fix: string] {
  if (path !== undefined) return [path, problem, fix];
  const place = `${template?.file ?? ''}:${template?.line ?? 1}`;
  const annotation = ['metadata', 'annotations', ANNOTATION.TEMPLATES];
  return [annotation, `template ${place}: ${problem}`, fix];
}
