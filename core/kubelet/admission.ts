/**
 * The CRDs' rules for a KubeletConfig and an APIServer beside their shape, in the same words, for
 * checks without an API server.
 */

import type { FieldProblem } from '../field-problem';
import { isRecord } from '../is-record';

type Fields = Readonly<Record<string, unknown>>;

interface Rule {
  readonly field: string;
  readonly isBroken: (kubelet: Fields) => boolean;
  readonly problem: string;
  readonly fix?: string;
}

const RULES: readonly Rule[] = [
  {
    field: 'cgroupDriver',
    isBroken: ({ cgroupDriver = '' }) => cgroupDriver !== '',
    problem: 'cgroupDriver must be that of the container runtime, which the machines bring',
  },
  {
    field: 'clusterDNS',
    isBroken: ({ clusterDNS = [] }) => Array.isArray(clusterDNS) && clusterDNS.length > 0,
    problem: 'clusterDNS is the same for the whole cluster, and comes from the ControllerConfig',
  },
  {
    field: 'clusterDomain',
    isBroken: ({ clusterDomain = '' }) => clusterDomain !== '',
    problem: 'clusterDomain is the same for the whole cluster',
  },
  {
    field: 'featureGates',
    isBroken: ({ featureGates }) => sizeOf(featureGates) > 0,
    problem: 'feature gates are those of the FeatureGate cluster, for all machines',
    fix: 'remove them',
  },
  {
    field: 'failSwapOn',
    isBroken: ({ failSwapOn }) => failSwapOn === true,
    problem: 'failSwapOn comes with the machines of the pool',
  },
  {
    field: 'memorySwap',
    isBroken: ({ memorySwap }) => isRecord(memorySwap) && (memorySwap['swapBehavior'] ?? '') !== '',
    problem: 'swapBehavior comes with the machines of the pool',
  },
];

/** Every broken rule of `deploy/crds`, in its order. */
export function kubeletRefusals(spec: {
  readonly autoSizingReserved?: boolean | undefined;
  readonly kubeletConfig?: Fields | undefined;
  readonly tlsSecurityProfile?: TlsProfile | undefined;
}): readonly FieldProblem[] {
  const kubelet = spec.kubeletConfig ?? {};
  const isTwice = spec.autoSizingReserved === true && sizeOf(kubelet['systemReserved']) > 0;
  return [
    ...(isTwice
      ? [
          {
            path: ['spec'],
            problem:
              'autoSizingReserved computes the reservations of each machine, so systemReserved cannot be set with it',
            fix: 'remove one of them',
          },
        ]
      : []),
    ...RULES.filter(({ isBroken }) => isBroken(kubelet)).map(
      ({ field, problem, fix = 'remove it' }) => ({
        path: ['spec', 'kubeletConfig', field],
        problem,
        fix,
      }),
    ),
    ...tlsRefusals(spec),
  ];
}

interface TlsProfile {
  readonly type?: string | undefined;
  readonly custom?: unknown;
}

/** Of a KubeletConfig or an APIServer. */
export function tlsRefusals({
  tlsSecurityProfile: profile,
}: {
  readonly tlsSecurityProfile?: TlsProfile | undefined;
}): readonly FieldProblem[] {
  if (profile?.type !== 'Custom' || isRecord(profile.custom)) return [];
  return [
    {
      path: ['spec', 'tlsSecurityProfile'],
      problem: 'type Custom needs its ciphers and versions',
      fix: 'add custom: {ciphers: […], minTLSVersion: VersionTLS12}',
    },
  ];
}

function sizeOf(map: unknown): number {
  return isRecord(map) ? Object.keys(map).length : 0;
}
