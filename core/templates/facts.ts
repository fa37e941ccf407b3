/** The values that templates insert: facts of the cluster, from the ControllerConfig. */

import { fieldText } from '../field-path';
import { authorityIn } from '../host-bundle/authorities';
import { BUNDLE_PATH } from '../host-bundle/paths';
import { isAddress } from '../kubelet/validation/ip-address';
import { textAt, valueAt } from '../values-at';
import { PLATFORM_TYPE, platformOf } from './platform';
import type { TemplateFinding } from './types';

type Refusal = { readonly problem: string; readonly fix: string } | undefined;

interface Fact {
  readonly name: string;
  readonly path: readonly string[];
  readonly refuse: (value: string) => Refusal;
  /** The CRD refuses it, too. */
  readonly isAdmitted?: true;
  /** What templates insert instead of the field: where the machines have it. */
  readonly file?: string;
}

const TRUST_BUNDLE = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const ONE_WORD = /^[\u0021-\u007e]+$/;

/** In the order of docs/templates.md. */
const FACTS: readonly Fact[] = [
  { name: 'clusterDNSIP', path: ['spec', 'clusterDNSIP'], refuse: notAddress, isAdmitted: true },
  { name: 'baseDomain', path: ['spec', 'dns', 'spec', 'baseDomain'], refuse: notName },
  { name: 'httpProxy', path: ['spec', 'proxy', 'httpProxy'], refuse: notUrl, isAdmitted: true },
  { name: 'httpsProxy', path: ['spec', 'proxy', 'httpsProxy'], refuse: notUrl, isAdmitted: true },
  { name: 'noProxy', path: ['spec', 'proxy', 'noProxy'], refuse: notWord },
  {
    name: 'apiServerURL',
    path: ['spec', 'infra', 'status', 'apiServerURL'],
    refuse: notUrl,
  },
  {
    name: 'apiServerInternalURL',
    path: ['spec', 'infra', 'status', 'apiServerInternalURI'],
    refuse: notUrl,
  },
  { name: 'ipFamilies', path: ['spec', 'ipFamilies'], refuse: notWord },
  { name: 'networkType', path: ['spec', 'networkType'], refuse: notWord },
  { name: 'pauseImage', path: ['spec', 'images', 'infraImageKey'], refuse: notWord },
  {
    name: 'clientCAFile',
    path: ['spec', 'kubeAPIServerServingCAData'],
    refuse: notAuthorities,
    file: BUNDLE_PATH.KUBELET_AUTHORITY,
  },
];

/** Beside the facts: of the pool, of the templates, and what follows from the platform. */
const OTHERS = ['pool', 'role', 'flavour', 'platform', 'cloudProvider'] as const;

export const VALUE_NAMES: ReadonlySet<string> = new Set([
  ...OTHERS,
  ...FACTS.map(({ name }) => name),
]);

/** Where a person writes the value; undefined = nowhere in the ControllerConfig. */
export function fieldOf(name: string): readonly string[] | undefined {
  if (name === 'cloudProvider') return PLATFORM_TYPE;
  return FACTS.find((fact) => fact.name === name)?.path;
}

export interface ClusterFacts {
  /** By name. A fact that the ControllerConfig does not tell, or leaves empty, is absent. */
  readonly values: Readonly<Record<string, string>>;
  readonly findings: readonly TemplateFinding[];
  /** No reason to stop. */
  readonly warnings: readonly TemplateFinding[];
}

/** @param config - a ControllerConfig, as somebody wrote it */
export function clusterFacts(config: unknown): ClusterFacts {
  const platform = platformOf(config);
  const told = toldFacts(config);
  return {
    values: { ...told.values, ...platform.values },
    findings: [...platform.findings, ...told.findings],
    warnings: [...platform.warnings, ...trustBundle(config)],
  };
}

/** MCO's templates have it. A change restarts the container runtime, so it belongs to a rollout. */
function trustBundle(config: unknown): readonly TemplateFinding[] {
  const path = ['spec', 'additionalTrustBundle'];
  const value = valueAt(config, ...path);
  if (value === undefined || value === null || value === '') return [];
  const fix = `write it into a MachineConfig, as the file ${TRUST_BUNDLE}`;
  return [{ path, problem: 'is not brought to the machines', fix }];
}

interface FactRefusal {
  readonly path: readonly string[];
  readonly problem: string;
  readonly fix: string;
}

/** What the API server refuses, also where no templates are used. */
export function admissionRefusals(config: unknown): readonly FactRefusal[] {
  return refusals(
    config,
    FACTS.filter(({ isAdmitted }) => isAdmitted === true),
  );
}

function refusals(config: unknown, facts: readonly Fact[]): readonly FactRefusal[] {
  return facts.flatMap(({ path, refuse }) => {
    const value = valueAt(config, ...path);
    if (value === undefined || value === null || value === '') return [];
    if (typeof value !== 'string')
      return [{ path, problem: 'is no text', fix: 'write it in quotes' }];
    const refusal = refuse(value);
    return refusal === undefined ? [] : [{ path, ...refusal }];
  });
}

function toldFacts(config: unknown): Pick<ClusterFacts, 'values' | 'findings'> {
  const findings = refusals(config, FACTS);
  const wrong = new Set(findings.map(({ path }) => fieldText(path)));
  const values = FACTS.flatMap(({ name, path, file }) => {
    const value = textAt(config, ...path) ?? '';
    return value === '' || wrong.has(fieldText(path)) ? [] : [[name, file ?? value] as const];
  });
  return { values: Object.fromEntries(values), findings };
}

function notAddress(value: string): Refusal {
  if (isAddress(value)) return undefined;
  return { problem: `"${value}" is no IP address`, fix: 'write one address, such as 10.96.0.10' };
}

function notName(value: string): Refusal {
  if (DNS_NAME.test(value)) return undefined;
  return { problem: `"${value}" is no DNS name`, fix: 'write one, such as example.com' };
}

/** The value stays out of the message, because it may hold a password. */
function notUrl(value: string): Refusal {
  const fix = 'write one, such as http://proxy.example.com:3128, with %20 for a blank and so on';
  if (!ONE_WORD.test(value) || !URL.canParse(value)) return { problem: 'is no URL', fix };
  const { protocol, hostname } = new URL(value);
  if (!['http:', 'https:'].includes(protocol) || hostname === '') {
    return { problem: 'is no http:// or https:// URL', fix };
  }
  return undefined;
}

function notWord(value: string): Refusal {
  if (ONE_WORD.test(value)) return undefined;
  return {
    problem: 'has a blank, a line break or a character outside ASCII',
    fix: 'write it without; entries of a list are separated by commas alone',
  };
}

function notAuthorities(value: string): Refusal {
  const found = authorityIn({ value }, 'value');
  if (found === undefined || 'pem' in found) return undefined;
  const { problem, fix } = found.problem;
  return { problem, fix };
}
