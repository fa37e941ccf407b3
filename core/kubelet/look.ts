/**
 * One look at everything that decides what kubelets get: the KubeletConfigs of all pools, and the
 * feature gates, the TLS profile and nodes.config of the cluster.
 */

import type { FieldProblem } from '../field-problem';
import {
  baseFile,
  baseName,
  fileIn,
  KUBELET_CONFIG,
  lookAtOrigins,
  roleOf,
  type ConfigWrite,
  type Generated,
  type GeneratedObject,
  type Origin,
  type OriginPicture,
} from '../generated-configs';
import { isRecord } from '../is-record';
import type { MachineConfigPool } from '../pool/types';
import { clusterSettings, type ClusterSettings, type Refused } from './cluster-settings';
import { clusterWrites } from './cluster-writes';
import { contentFor, judgeUser, type NoBase, type PoolBase } from './content';
import type { ReadYaml } from './decode';
import { KUBELET_CONF, NODE_SIZING } from './files';

export interface KubeletPicture extends OriginPicture {
  /** Objects of config.openshift.io; absent = their defaults. */
  readonly featureGate: unknown;
  readonly configNode: unknown;
  readonly apiServer: unknown;
  readonly controllerConfig: unknown;
  readonly readYaml: ReadYaml;
}

export interface KubeletObject extends GeneratedObject {
  /** The problem by its fields, where it is about fields. */
  readonly findings: readonly FieldProblem[];
  /** Which no kubelet gets. */
  readonly ignored: readonly FieldProblem[];
}

export interface KubeletLook {
  /** In the order of creation. */
  readonly objects: readonly KubeletObject[];
  /** MachineConfigs of the FeatureGate and of nodes.config. */
  readonly cluster: readonly ConfigWrite[];
  /** Why what these say is not taken over, or not for all pools. */
  readonly refused: readonly Refused[];
}

export function lookAtKubelets(picture: KubeletPicture): KubeletLook {
  const settings = clusterSettings(picture, workerFrequency(picture));
  const baseOf = (pool: MachineConfigPool) => poolBase(picture, settings, pool);
  const cluster = clusterWrites({
    ...picture,
    // A refused list of gates is no list without gates.
    ...(settings.featureGates === undefined ? { featureGate: undefined } : {}),
    baseOf,
  });
  return {
    objects: lookAtOrigins(KUBELET_CONFIG, picture, {
      judge: (origin) => judged(origin, picture, baseOf),
      saysNothing: { findings: [], ignored: [] },
    }),
    cluster: cluster.writes,
    refused: [...settings.refused, ...cluster.refused],
  };
}

function judged(
  origin: Origin,
  { readYaml }: KubeletPicture,
  baseOf: (pool: MachineConfigPool) => PoolBase | NoBase,
) {
  const { refusal, ignored, ...user } = judgeUser(origin, readYaml);
  const findings = [...user.findings];
  const generate = (pool: MachineConfigPool): Generated => {
    const base = baseOf(pool);
    if ('problem' in base) return base;
    const content = contentFor(origin, pool, base, readYaml);
    findings.push(...(content.findings ?? []));
    return content;
  };
  return { refusal, generate, says: { findings, ignored } };
}

function poolBase(
  { machineConfigs, gunzip }: KubeletPicture,
  { featureGates, tlsSecurityProfile, node }: ClusterSettings,
  pool: MachineConfigPool,
): PoolBase | NoBase {
  const ports = { gunzip, configNamed: (name: string) => machineConfigs.get(name) };
  const of = (path: string) => baseFile(pool, { subject: 'kubelet', path }, ports);
  const conf = of(KUBELET_CONF);
  if ('problem' in conf) return conf;
  const sizing = of(NODE_SIZING);
  return {
    base: {
      ...{ role: roleOf(pool.metadata.name), text: conf.text },
      ...{ featureGates, tlsSecurityProfile, node },
    },
    sizing: 'text' in sizing ? sizing.text : undefined,
    isOwn: conf.isOwn,
  };
}

/** What nodes.config made of the workers until now, by the first of their pools. */
function workerFrequency(picture: KubeletPicture): string | undefined {
  const { pools, machineConfigs, gunzip, readYaml } = picture;
  for (const { metadata } of pools) {
    if (roleOf(metadata.name) !== 'worker') continue;
    const config = machineConfigs.get(baseName(KUBELET_CONFIG.word, metadata.name, 97));
    const conf = config && fileIn(config, KUBELET_CONF, gunzip);
    const read = conf !== undefined && 'text' in conf ? readYaml(conf.text) : undefined;
    const value = read !== undefined && 'value' in read && isRecord(read.value) ? read.value : {};
    const frequency = value['nodeStatusUpdateFrequency'];
    if (typeof frequency === 'string') return frequency;
  }
  return undefined;
}
