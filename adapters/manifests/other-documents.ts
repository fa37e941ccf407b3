/**
 * Documents that stand among manifests and are no Kubernetes objects: files of the tools with which manifests are
 * made, and data. They are told from objects of ours in which somebody forgot `kind` or `apiVersion`.
 */

import { basename } from 'node:path';
import { MCO_GROUP, OPERATOR_GROUP, SLIPWAY_GROUP } from '../../core/names';

/** Files by the names under which their tools look for them. */
const TOOL_FILES: readonly (readonly [RegExp, string])[] = [
  [/^kustomization(\.ya?ml)?$/i, 'Kustomization'],
  [/^chart\.ya?ml$/i, 'Helm chart'],
  [/^values([-_.].*)?\.ya?ml$/i, 'Helm values'],
];

const OUR_GROUPS: readonly string[] = [MCO_GROUP, OPERATOR_GROUP, SLIPWAY_GROUP];
const OUR_KINDS =
  /^(MachineConfig(Pool|Node|uration)?|ControllerConfig|KubeletConfig|ContainerRuntimeConfig|RolloutPolicy)(List)?$/;

/**
 * What a document without `apiVersion` or `kind` is; undefined = an object with a mistake. It is one when what
 * there is of both is of ours, or when there is neither beside `metadata`, `spec` or `items`.
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
