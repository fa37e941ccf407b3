/** MachineConfigs of pools from templates and the ControllerConfig. */

import { CONTROLLER_CONFIGS } from '../../adapters/kube/resources';
import { readYaml } from '../../adapters/manifests';
import { fillTemplate, type WatchedTemplates } from '../../adapters/templates';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { FIELD_MANAGER } from '../../core/names';
import { findingText, lookAtTemplates, type TemplateLook } from '../../core/templates';
import { GeneratingController, say, type GeneratingDeps } from '../generated';

export function templateController(
  deps: GeneratingDeps,
  templates: WatchedTemplates,
  leading: AbortSignal,
): GeneratingController<TemplateLook> {
  const { picture, now, version } = deps;
  const { controllerConfigs } = picture;
  return new GeneratingController(
    deps,
    {
      resource: CONTROLLER_CONFIGS,
      manager: `${FIELD_MANAGER.CONTROLLERS}-templates`,
      watched: [controllerConfigs, templates],
      concerned: /^00-|^01-.+-(kubelet|container-runtime)$/,
      look: () =>
        lookAtTemplates({
          controllerConfig: controllerConfigs.get(CONTROLLER_CONFIG),
          pools: picture.pools.list(),
          machineConfigs: picture.machineConfigs.list(),
          templates: templates.current,
          ports: { fill: fillTemplate, readYaml },
          version,
          now: now(),
        }),
      tell: (look) => tell(deps, look),
    },
    leading,
  );
}

/** What counts as something else than what is written. */
function tell({ events }: GeneratingDeps, { objects }: TemplateLook): void {
  for (const { origin, warnings } of objects) {
    const subject = { resource: CONTROLLER_CONFIGS, object: origin };
    say(events, subject, 'FieldIgnored', warnings.map(findingText));
  }
}
