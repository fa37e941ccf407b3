import { readYamlDocument } from '../../adapters/manifests';
import { KUBELET_CONFIG, type ConfigWrite, type Write } from '../../core/generated-configs';
import { lookAtKubelets, type KubeletObject } from '../../core/kubelet';
import type { Findings } from './findings';
import {
  controllerConfigOf,
  CORRECT,
  gunzip,
  NO_TIME,
  originsOf,
  refuseUnnumbered,
  reportProblem,
  singleOf,
  viewOf,
  type GeneratedInput,
} from './generated-input';

/** Of KubeletConfigs and of what the cluster sets for all kubelets. */
export function generatedKubelets(
  input: GeneratedInput,
  findings: Findings,
): readonly (Write | ConfigWrite)[] {
  const origins = originsOf(input, KUBELET_CONFIG);
  refuseUnnumbered(input, KUBELET_CONFIG, { origins, findings });
  const { pools, configs, version, objects, rest } = input;
  const look = lookAtKubelets({
    ...{ origins, pools, version, now: NO_TIME, gunzip, readYaml: readYamlDocument },
    machineConfigs: viewOf(configs),
    featureGate: singleOf(input, 'FeatureGate'),
    configNode: singleOf(input, 'Node'),
    apiServer: singleOf(input, 'APIServer'),
    controllerConfig: controllerConfigOf(input),
  });
  for (const object of look.objects) report(object, input, findings);
  for (const { kind, says } of look.refused) {
    const written = objects.written(kind, 'cluster');
    if (written === undefined || rest === 'elsewhere') continue;
    findings.error(written, ['spec'], says, CORRECT);
  }
  return [...look.cluster, ...look.objects.flatMap(({ writes }) => writes)];
}

function report(
  { origin, problem, findings: found, ignored }: KubeletObject,
  input: GeneratedInput,
  findings: Findings,
): void {
  const written = input.objects.written(KUBELET_CONFIG.kind, origin.metadata.name);
  if (written === undefined) return;
  for (const { path, problem: says, fix } of ignored) findings.warning(written, path, says, fix);
  for (const { path, problem: says, fix } of found) findings.error(written, path, says, fix);
  if (found.length === 0) reportProblem(input, written, { problem, findings });
}
