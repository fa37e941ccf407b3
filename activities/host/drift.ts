/** Compares the disk and the operating system with a config, as MCO validates its hosts. */

import { canonicalKernelType } from '../../core/machine-config/diff';
import type { RenderedSpec } from '../../core/machine-config/types';
import { splitKernelArguments } from '../../core/os';
import type { HostPorts, OsStatus } from './ports';
import { type WantedPath, wantedPaths } from './wanted-paths';

/** Written by other components after the config; MCO does not compare them either. */
const NOT_COMPARED: readonly string[] = [
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/mco/internal-registry-pull-secret.json',
];

/** A path that differs, and how. Never its content. */
export interface Drift {
  readonly path: string;
  readonly reason: string;
}

/**
 * The first path or unit that is not as the config says; undefined when all are. Mode and content of
 * files, content and enablement of units; owners are not compared, as in MCO.
 *
 * @see MCO pkg/daemon/on_disk_validation.go (7ff337a4)
 */
export async function findDrift(
  ports: Pick<HostPorts, 'files' | 'systemd'>,
  spec: RenderedSpec,
): Promise<Drift | undefined> {
  for (const [path, wanted] of wantedPaths(spec)) {
    if (NOT_COMPARED.includes(path)) continue;
    const reason = await differenceAt(ports, path, wanted);
    if (reason !== undefined) return { path, reason };
  }
  for (const unit of spec.config.systemd?.units ?? []) {
    if (unit.enabled === undefined || unit.mask === true) continue;
    const now = await ports.systemd.enablement(unit.name);
    // Static units cannot be enabled, and for units that are not installed there is nothing to ask.
    if (now !== 'enabled' && now !== 'disabled') continue;
    const wanted = unit.enabled ? 'enabled' : 'disabled';
    if (now !== wanted) {
      return { path: unit.name, reason: `unit ${unit.name} is ${now}, expected ${wanted}` };
    }
  }
  return undefined;
}

async function differenceAt(
  { files }: Pick<HostPorts, 'files'>,
  path: string,
  wanted: WantedPath,
): Promise<string | undefined> {
  const now = await files.look(path);
  switch (wanted.kind) {
    case 'absent': {
      const isMask = now.kind === 'symlink' && now.target === '/dev/null';
      const isRight = wanted.onlyMask ? !isMask : now.kind === 'absent';
      return isRight ? undefined : `${path} should not be there`;
    }
    case 'symlink':
      return now.kind === 'symlink' && now.target === wanted.target
        ? undefined
        : `unit ${wanted.name} is not masked`;
    case 'file':
      if (now.kind === 'absent') return `${path} is missing`;
      if (now.kind !== 'file') return `${path} is not a regular file`;
      if (now.mode !== wanted.mode) {
        return `mode mismatch for file: "${path}"; expected: ${octal(wanted.mode)}; received: ${octal(now.mode)}`;
      }
      return wanted.content === undefined || now.content.equals(wanted.content)
        ? undefined
        : `content mismatch for file "${path}"`;
  }
}

/** What of the operating system is not as the config says; undefined when all is. */
export function findOsDrift(status: OsStatus, spec: RenderedSpec): string | undefined {
  const { booted } = status;
  if (spec.osImageURL !== '' && (booted.image ?? '') !== spec.osImageURL) {
    return `expected target osImageURL "${spec.osImageURL}", have "${booted.image ?? ''}"`;
  }
  const missing = splitKernelArguments(spec.kernelArguments).filter(
    (argument) => !booted.kernelArguments.includes(argument),
  );
  if (missing.length > 0) return `missing expected kernel arguments: [${missing.join(' ')}]`;
  const kernelType = canonicalKernelType(spec.kernelType);
  if (booted.kernelType !== kernelType) {
    return `expected kernel type ${kernelType}, have ${booted.kernelType}`;
  }
  const lacking = spec.extensions.filter((name) => !booted.extensions.includes(name));
  return lacking.length > 0 ? `missing extensions: [${lacking.join(' ')}]` : undefined;
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
