/** MachineConfigs that the controllers would generate from the other manifests. */

import type { ConfigWrite, Write } from '../../core/generated-configs';
import type { Findings } from './findings';
import type { GeneratedInput, GeneratedOffline } from './generated-input';
import { generatedKubelets } from './generated-kubelets';
import { generatedRuntimes } from './generated-runtimes';
import { fromTemplatesOffline } from './templates';

/** Also with findings, as for those that a pool would be degraded by. */
export function generatedOffline(
  input: GeneratedInput,
  findings: Findings,
): readonly GeneratedOffline[] {
  const made = fromTemplatesOffline(input, findings);
  const names = new Set(made.map(({ config }) => config.metadata.name));
  const others = input.configs.filter(({ metadata }) => !names.has(metadata.name));
  // The others are merged into files of templates.
  const configs = [...others, ...made.map(({ config }) => config)];
  return [...made, ...mergedOffline({ ...input, configs }, findings)];
}

function mergedOffline(input: GeneratedInput, findings: Findings): readonly GeneratedOffline[] {
  const writes: readonly (Write | ConfigWrite)[] = [
    ...generatedKubelets(input, findings),
    ...generatedRuntimes(input, findings),
  ];
  return writes.flatMap((write) => {
    if (!('config' in write)) return [];
    const { config } = write;
    const [owner] = config.metadata.ownerReferences ?? [];
    return [{ config, source: owner && input.objects.written(owner.kind, owner.name) }];
  });
}
