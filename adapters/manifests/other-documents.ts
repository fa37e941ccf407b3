/**
 * Documents among manifests that are no Kubernetes objects (files of tools, data), as opposed to
 * objects with a forgotten `kind` or `apiVersion`.
 */

import { basename, dirname, join, sep } from 'node:path';
import { MCO_GROUP, OPERATOR_GROUP, SLIPWAY_GROUP } from '../../core/names';
import type { ManifestFile } from './manifest-files';
import { readYaml } from './yaml-documents';

const KUSTOMIZATION = /^kustomization(\.ya?ml)?$/i;
const CHART = /^chart\.ya?ml$/i;

const TOOL_FILES: readonly (readonly [RegExp, string])[] = [
  [KUSTOMIZATION, 'Kustomization'],
  [CHART, 'Helm chart'],
  [/^(.*[-_.])?values([-_.].*)?\.ya?ml$/i, 'Helm values'],
];

const OUR_GROUPS: readonly string[] = [MCO_GROUP, OPERATOR_GROUP, SLIPWAY_GROUP];
const OUR_KINDS =
  /^(MachineConfig(Pool|Node|uration)?|ControllerConfig|KubeletConfig|ContainerRuntimeConfig|RolloutPolicy)(List)?$/;

/**
 * Undefined = a faulty object: one of Slipway's kinds or groups, or one with `metadata`, `spec` or
 * `items`.
 */
export function otherDocument(file: string, value: unknown): string | undefined {
  const tool = TOOL_FILES.find(([name]) => name.test(basename(file)));
  if (tool !== undefined) return tool[1];
  if (Array.isArray(value)) return value.some(isOurs) ? undefined : NOT_KUBERNETES;
  if (!isRecord(value) || isOurs(value)) return undefined;
  if (typeof value['variant'] === 'string') return 'Butane config';
  return typeof value['kind'] === 'string' ? value['kind'] : NOT_KUBERNETES;
}

const NOT_KUBERNETES = 'not of Kubernetes';

/** Templates of a Helm chart and patches of a kustomization. Path → description. */
export function otherFiles(files: readonly ManifestFile[]): ReadonlyMap<string, string> {
  const named = (name: RegExp): readonly ManifestFile[] =>
    files.filter(({ path }) => name.test(basename(path)));
  const templates = named(CHART).map(({ path }) => join(dirname(path), 'templates', sep));
  const patches = new Set(named(KUSTOMIZATION).flatMap(patchesOf));
  return new Map(
    files.flatMap(({ path }): [string, string][] => {
      if (templates.some((directory) => path.startsWith(directory)))
        return [[path, 'Helm template']];
      return patches.has(path) ? [[path, 'Kustomize patch']] : [];
    }),
  );
}

function patchesOf({ path, text }: ManifestFile): readonly string[] {
  const lists = ['patches', 'patchesStrategicMerge', 'patchesJson6902'];
  return readYaml(text)
    .documents.map(({ value }) => value)
    .filter(isRecord)
    .flatMap((value) => lists.flatMap((list): unknown => value[list] ?? []))
    .map((patch) => (isRecord(patch) ? patch['path'] : patch))
    .filter((patch) => typeof patch === 'string')
    .map((patch) => join(dirname(path), patch));
}

function isOurs(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { apiVersion, kind, variant } = value;
  if (typeof kind === 'string') return OUR_KINDS.test(kind);
  if (typeof apiVersion === 'string') return OUR_GROUPS.includes(apiVersion.replace(/\/.*$/, ''));
  if (typeof variant === 'string') return false;
  return ['metadata', 'spec', 'items'].some((field) => Object.hasOwn(value, field));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
