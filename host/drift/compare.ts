/** Compares disk and operating system with a config, as MCO does. */

import { canonicalKernelType } from '../../core/machine-config/diff';
import type { RenderedSpec } from '../../core/machine-config/types';
import { missingArguments, sameImage, withoutArgumentValue } from '../../core/os';
import { wantedOnHost } from '../paths/appended';
import { differenceAt, expectedAt, type ObservedPath, sha256 } from './difference';
import type { HostPorts, OsStatus } from '../ports';
import type { WantedPath } from '../paths/wanted-paths';

/** Other components rewrite these; MCO does not compare them either. */
export const NOT_COMPARED: readonly string[] = [
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/mco/internal-registry-pull-secret.json',
];

/** Never its content. */
export interface Drift {
  readonly path: string;
  readonly reason: string;
}

export async function findDrift(
  ports: Pick<HostPorts, 'files' | 'systemd'>,
  spec: RenderedSpec,
): Promise<Drift | undefined> {
  for await (const drift of driftsFrom(ports, spec)) return drift;
  return undefined;
}

/**
 * Mode and content of files, content and enablement of units. Owners are not compared, as in MCO.
 *
 * @see MCO pkg/daemon/on_disk_validation.go (7ff337a4)
 */
export async function* driftsFrom(
  ports: Pick<HostPorts, 'files' | 'systemd'>,
  spec: RenderedSpec,
): AsyncGenerator<Drift> {
  for await (const [path, wanted] of wantedOnHost(ports.files, spec)) {
    if (NOT_COMPARED.includes(path)) continue;
    const now = await observed(ports.files, path, wanted);
    const difference = await differenceAt(path, expectedAt(wanted), now);
    if (difference !== undefined) yield { path, reason: difference.detail };
  }
  for (const unit of spec.config.systemd?.units ?? []) {
    if (unit.enabled === undefined || unit.mask === true) continue;
    const reason = await enablementDrift(ports, unit.name, unit.enabled);
    if (reason !== undefined) yield { path: unit.name, reason };
  }
}

/** Reads a file only if its size is right: a huge one must not fill the memory. */
async function observed(
  files: Pick<HostPorts['files'], 'facts' | 'look'>,
  path: string,
  wanted: WantedPath,
): Promise<ObservedPath> {
  const facts = await files.facts(path);
  if (facts.kind === 'symlink') return { kind: 'symlink', target: facts.target };
  if (facts.kind !== 'file') return { kind: facts.kind };
  const size = wanted.kind === 'file' ? wanted.content?.length : undefined;
  const digest = async (): Promise<string> => {
    if (size !== undefined && size !== facts.size) return `of ${facts.size} bytes`;
    const state = await files.look(path);
    return state.kind === 'file' ? sha256(state.content) : 'gone';
  };
  return { kind: 'file', mode: facts.mode, sha256: digest };
}

/** Undefined when the enablement is right. */
export async function enablementDrift(
  { systemd }: Pick<HostPorts, 'systemd'>,
  unit: string,
  enabled: boolean,
): Promise<string | undefined> {
  const now = await systemd.enablement(unit);
  const wanted = enabled ? 'enabled' : 'disabled';
  if (now === wanted) return undefined;
  // Static units cannot be enabled, and absent units have no enablement. A masked unit, or a
  // template with only an enabled instance, is right only if it is to be disabled.
  const isOff = now === 'masked' || now === 'indirect';
  const isRight = now === 'static' || now === 'absent' || (isOff && !enabled);
  return isRight ? undefined : `unit ${unit} is ${now}, expected ${wanted}`;
}

export function findOsDrift(
  status: OsStatus,
  spec: Pick<RenderedSpec, 'osImageURL' | 'kernelArguments' | 'kernelType' | 'extensions'>,
): string | undefined {
  const { booted } = status;
  if (spec.osImageURL !== '' && !sameImage(booted.image ?? '', spec.osImageURL)) {
    return `expected target osImageURL "${spec.osImageURL}", have "${booted.image ?? ''}"`;
  }
  const missing = missingArguments(spec.kernelArguments, booted.kernelArguments);
  if (missing.length > 0) {
    const told = missing.map(withoutArgumentValue).join(' ');
    return `missing expected kernel arguments: [${told}]`;
  }
  const kernelType = canonicalKernelType(spec.kernelType);
  if (booted.kernelType !== kernelType) {
    return `expected kernel type ${kernelType}, have ${booted.kernelType}`;
  }
  const lacking = spec.extensions.filter((name) => !booted.extensions.includes(name));
  return lacking.length > 0 ? `missing extensions: [${lacking.join(' ')}]` : undefined;
}
