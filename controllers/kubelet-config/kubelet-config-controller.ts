/** KubeletConfigs, and what the cluster sets for all kubelets. */

import { gunzipSync } from 'node:zlib';
import { CONFIG_NODES, FEATURE_GATES, KUBELET_CONFIGS } from '../../adapters/kube/resources';
import { readYamlDocument } from '../../adapters/manifests';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { fieldProblemText } from '../../core/field-problem';
import { lookAtKubelets, type KubeletLook } from '../../core/kubelet';
import { FIELD_MANAGER } from '../../core/names';
import { GeneratingController, say, type GeneratingDeps, type RefusedWrite } from '../generated';

export function kubeletConfigController(
  deps: GeneratingDeps,
  leading: AbortSignal,
): GeneratingController<KubeletLook> {
  const { picture, now, version } = deps;
  const { kubeletConfigs, featureGates, configNodes, apiServers, controllerConfigs } = picture;
  return new GeneratingController(
    deps,
    {
      resource: KUBELET_CONFIGS,
      manager: `${FIELD_MANAGER.CONTROLLERS}-kubelet-config`,
      watched: [kubeletConfigs, featureGates, configNodes, apiServers, controllerConfigs],
      concerned: /^01-.+-kubelet$|^9[789]-.+-kubelet(-\d+)?$/,
      look: () =>
        lookAtKubelets({
          origins: kubeletConfigs.list(),
          pools: picture.pools.list(),
          machineConfigs: picture.machineConfigs,
          featureGate: featureGates.get('cluster'),
          configNode: configNodes.get('cluster'),
          apiServer: apiServers.get('cluster'),
          controllerConfig: controllerConfigs.get(CONTROLLER_CONFIG),
          version,
          now: now(),
          readYaml: readYamlDocument,
          gunzip: (bytes) => gunzipSync(bytes),
        }),
      tell: (look, notWritten) => tell(deps, look, notWritten),
    },
    leading,
  );
}

/** What has no effect, and why. */
function tell(
  { events, picture }: GeneratingDeps,
  { objects, refused }: Pick<KubeletLook, 'objects' | 'refused'>,
  notWritten: readonly RefusedWrite[],
): void {
  for (const resource of [FEATURE_GATES, CONFIG_NODES]) {
    const cache = resource === FEATURE_GATES ? picture.featureGates : picture.configNodes;
    const object = cache.get('cluster');
    const says = refused.filter(({ kind }) => kind === resource.kind).map((one) => one.says);
    if (object === undefined) continue;
    say(events, { resource, object }, 'ActionProhibited', says);
    const prefix = resource === FEATURE_GATES ? '98-' : '97-';
    const ofThis = notWritten.filter(({ name }) => name.startsWith(prefix));
    say(
      events,
      { resource, object },
      'Refused',
      ofThis.map((one) => one.says),
    );
  }
  for (const { origin, ignored } of objects) {
    const subject = { resource: KUBELET_CONFIGS, object: origin };
    say(events, subject, 'FieldIgnored', ignored.map(fieldProblemText));
  }
}
