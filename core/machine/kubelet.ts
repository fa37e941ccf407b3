/**
 * Where a machine has its kubelet: the unit, the client certificate, the cluster's authority. Distributions
 * differ; which one a machine is of is told from its files.
 */

import type { MachineTree } from './tree';

/** The files with which a machine shows itself to the cluster, and knows it. */
interface KubeletFiles {
  readonly certificateFile: string;
  /** May be the file of the certificate. */
  readonly keyFile: string;
  /** Of the cluster's servers. */
  readonly authorityFile: string;
}

/** A distribution of Kubernetes, by what it puts on a machine. */
interface Distribution extends Omit<KubeletFiles, 'authorityFile'> {
  readonly name: string;
  /** Names of its kubelet's unit; the ones that also run a control plane first. */
  readonly units: readonly string[];
  /** One of them tells it from others with the same unit; none = its unit does. */
  readonly marks: readonly string[];
  /** The first one that is there. */
  readonly authorityFiles: readonly [string, ...string[]];
}

const ROTATED = '/var/lib/kubelet/pki/kubelet-client-current.pem';

/** The kubelet asks for its certificate itself, and keeps it with its key behind one link. */
const ASKED_FOR = { certificateFile: ROTATED, keyFile: ROTATED };

/** k3s and RKE2 run the kubelet inside of a unit of their own, and write its certificate whenever that starts. */
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

/** Somebody's own kubelet. What is not known to be anything else is taken for it. */
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
    // kubeadm writes the second one; where a person has put the first one, it is meant.
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

/** Every name under which a kubelet runs; the units of Slipway order themselves before all of them. */
export const KUBELET_UNITS: readonly string[] = [
  ...new Set(DISTRIBUTIONS.flatMap(({ units }) => units)),
];

/** Where kubelets say whether they are well, all distributions alike. */
export const KUBELET_HEALTH_URL = 'http://127.0.0.1:10248/healthz';

/** What a person has set; each goes before what is found. */
export interface KubeletSettings extends Partial<KubeletFiles> {
  readonly kubeletUnit?: string;
}

/** Parts of it that may be missing; a key is missing with its certificate. */
export type KubeletPart = 'kubeletUnit' | 'certificateFile' | 'authorityFile';

/** What was found, with what a person has set. */
export interface FoundKubelet extends KubeletFiles {
  /** Whose places these are; `kubelet` = of no distribution that is known. */
  readonly distribution: string;
  /** Absent = no unit of a known name is there. */
  readonly kubeletUnit?: string;
  /** What is not there (yet): what was looked for, and which setting names another. */
  readonly missing: Readonly<Partial<Record<KubeletPart, string>>>;
}

/**
 * Looks at the files of a machine. Of several kubelets the one that is enabled counts, then the one that has its
 * certificate, then the one that is installed. Before a machine has joined, it has neither certificate nor,
 * with most distributions, authority: where they will be is the answer, and that they are missing.
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
    // A certificate that somebody names without a key has it in its own file.
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

/** How much speaks for a distribution, and the unit of it that does. */
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
