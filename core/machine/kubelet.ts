/**
 * Finds a machine's kubelet: the unit, the client certificate, the cluster's authority. The files
 * of the machine tell which distribution it has.
 */

import type { MachineTree } from './tree';

/** Credentials of the machine, and the cluster's authority. */
interface KubeletFiles {
  readonly certificateFile: string;
  /** May be the file of the certificate. */
  readonly keyFile: string;
  readonly authorityFile: string;
}

/** A distribution of Kubernetes, by its files on a machine. */
interface Distribution extends Omit<KubeletFiles, 'authorityFile'> {
  readonly name: string;
  /** Units that run its kubelet; those that also run a control plane first. */
  readonly units: readonly string[];
  /** Any of these distinguishes it from others with the same unit; empty = the unit does. */
  readonly marks: readonly string[];
  /** The first existing one counts. */
  readonly authorityFiles: readonly [string, ...string[]];
}

const ROTATED = '/var/lib/kubelet/pki/kubelet-client-current.pem';

/** The kubelet requests its certificate itself, and keeps it with its key behind one link. */
const ASKED_FOR = { certificateFile: ROTATED, keyFile: ROTATED };

/** k3s and RKE2 run the kubelet inside their own unit, and write its certificate at each start. */
function ofRancher(name: string, units: readonly string[]): Distribution {
  const agent = `/var/lib/rancher/${name}/agent`;
  return {
    name,
    units,
    marks: [],
    certificateFile: `${agent}/client-kubelet.crt`,
    keyFile: `${agent}/client-kubelet.key`,
    authorityFiles: [`${agent}/server-ca.crt`],
  };
}

/** A kubelet without a known distribution. */
const PLAIN: Distribution = {
  name: 'kubelet',
  units: ['kubelet.service'],
  marks: [],
  ...ASKED_FOR,
  authorityFiles: ['/etc/kubernetes/ca.crt', '/etc/kubernetes/pki/ca.crt'],
};

const DISTRIBUTIONS: readonly Distribution[] = [
  {
    name: 'kubeadm',
    units: ['kubelet.service'],
    marks: [
      '/etc/kubernetes/pki/ca.crt',
      '/var/lib/kubelet/kubeadm-flags.env',
      '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf',
      '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf',
    ],
    ...ASKED_FOR,
    // kubeadm writes the second one; a person who adds the first one means that.
    authorityFiles: ['/etc/kubernetes/ca.crt', '/etc/kubernetes/pki/ca.crt'],
  },
  {
    name: 'okd',
    units: ['kubelet.service'],
    marks: ['/etc/kubernetes/kubelet-ca.crt'],
    ...ASKED_FOR,
    authorityFiles: ['/etc/kubernetes/ca.crt'],
  },
  ofRancher('k3s', ['k3s.service', 'k3s-agent.service']),
  ofRancher('rke2', ['rke2-server.service', 'rke2-agent.service']),
  PLAIN,
];

/** All units that run a kubelet; the units of Slipway order themselves before them. */
export const KUBELET_UNITS: readonly string[] = [
  ...new Set(DISTRIBUTIONS.flatMap(({ units }) => units)),
];

/** The health endpoint of kubelets, in all distributions. */
export const KUBELET_HEALTH_URL = 'http://127.0.0.1:10248/healthz';

/** Settings of a person, which win over what is found. */
export interface KubeletSettings extends Partial<KubeletFiles> {
  readonly kubeletUnit?: string;
}

/** Parts that may be missing; a key is missing with its certificate. */
export type KubeletPart = 'kubeletUnit' | 'certificateFile' | 'authorityFile';

/** The result, with the settings of a person. */
export interface FoundKubelet extends KubeletFiles {
  /** `kubelet` = no known distribution. */
  readonly distribution: string;
  /** Absent = no unit of a known name exists. */
  readonly kubeletUnit?: string;
  /** Missing parts: the expected files, and the setting that names others. */
  readonly missing: Readonly<Partial<Record<KubeletPart, string>>>;
}

/**
 * Of several kubelets the enabled one wins, then one with a certificate, then an installed one.
 * Before a machine has joined, the result names the future places of its files and reports them as
 * missing.
 */
export function findKubelet(tree: MachineTree, set: KubeletSettings): FoundKubelet {
  const { distribution, unit } = chosen(tree, set.kubeletUnit);
  const { certificateFile, keyFile, authorityFiles } = distribution;
  const authorityFile = authorityFiles.find((file) => tree.has(file)) ?? authorityFiles[0];
  const lacks = (...files: readonly string[]): boolean => !files.every((file) => tree.has(file));
  const missing: Partial<Record<KubeletPart, string>> = {};
  if (unit === undefined) {
    const names = KUBELET_UNITS.join(', ');
    missing.kubeletUnit = `unit of the kubelet: none of ${names} is there; kubeletUnit names another`;
  }
  if (set.certificateFile === undefined && lacks(certificateFile, keyFile)) {
    const files = [...new Set([certificateFile, keyFile])].join(' with ');
    missing.certificateFile = `client certificate of the kubelet: no ${files} yet; certificateFile and keyFile name others`;
  }
  if (set.authorityFile === undefined && lacks(authorityFile)) {
    const files = authorityFiles.join(' or ');
    missing.authorityFile = `authority of the cluster: no ${files} yet; authorityFile names another`;
  }
  return {
    distribution: distribution.name,
    ...(unit === undefined ? {} : { kubeletUnit: unit }),
    certificateFile: set.certificateFile ?? certificateFile,
    // A certificate that is set without a key has it in its own file.
    keyFile: set.keyFile ?? set.certificateFile ?? keyFile,
    authorityFile: set.authorityFile ?? authorityFile,
    missing,
  };
}

interface Choice {
  readonly distribution: Distribution;
  readonly unit?: string;
}

function chosen(tree: MachineTree, named: string | undefined): Choice {
  const fitting = DISTRIBUTIONS.filter(
    ({ marks }) => marks.length === 0 || marks.some((mark) => tree.has(mark)),
  );
  if (named !== undefined) {
    const distribution = fitting.find(({ units }) => units.includes(named)) ?? PLAIN;
    return { distribution, unit: named };
  }
  const ranked = fitting
    .map((distribution) => ranking(tree, distribution))
    .sort((a, b) => b.rank - a.rank);
  const [best] = ranked;
  return best === undefined || best.rank === 0 ? { distribution: PLAIN } : best;
}

function ranking(
  tree: MachineTree,
  distribution: Distribution,
): Choice & { readonly rank: number } {
  const states = distribution.units.map((unit) => ({ unit, state: tree.unit(unit) }));
  const enabled = states.find(({ state }) => state === 'enabled');
  const installed = enabled ?? states.find(({ state }) => state === 'disabled');
  const rank =
    (enabled === undefined ? 0 : 4) +
    (tree.has(distribution.certificateFile) ? 2 : 0) +
    (installed === undefined ? 0 : 1);
  return { distribution, rank, ...(installed === undefined ? {} : { unit: installed.unit }) };
}
