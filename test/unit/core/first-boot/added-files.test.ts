/**
 * Files that a MachineConfig may have beside those that every new machine gets: an accepted config can be served.
 */

import { gunzipSync } from 'node:zlib';
import { FIRST_BOOT_FILE, firstBootConfig, readServedIgnition } from '../../../../core/first-boot';
import { admissionProblems, describeProblem } from '../../../../core/machine-config';
import type { IgnitionConfig } from '../../../../core/machine-config/types';
import { nodePorts } from '../../../conformance/render-ports';
import { machineConfig } from '../machine-config/builders';

const FACTS = {
  kubeconfig: 'apiVersion: v1\n',
  kubeletAuthority: Buffer.from('kubelet authority').toString('base64'),
  cloudAuthority: Buffer.from('cloud authority').toString('base64'),
};

const ENTRIES = {
  files: (path: string) => ({ files: [{ path, contents: { source: 'data:,own' }, mode: 420 }] }),
  directories: (path: string) => ({ directories: [{ path }] }),
  links: (path: string) => ({ links: [{ path, target: '/opt/own' }] }),
};
type Kind = keyof typeof ENTRIES;

function configWith(kind: Kind, path: string): IgnitionConfig {
  return { ignition: { version: '3.5.0' }, storage: ENTRIES[kind](path) };
}

const refusalsOf = (kind: Kind, path: string): readonly string[] =>
  admissionProblems([machineConfig('50-own', { config: configWith(kind, path) })], nodePorts).map(
    describeProblem,
  );

function serve(kind: Kind, path: string): string {
  const rendered = machineConfig('rendered-worker-1', { config: configWith(kind, path) });
  const ignition = readServedIgnition(rendered, { gunzip: gunzipSync });
  return firstBootConfig({ machineConfig: rendered, ignition, facts: FACTS, version: '3.4' });
}

/** Each added file, a path above it, and a path below it. */
const places = [
  ...new Set(
    Object.values(FIRST_BOOT_FILE).flatMap((path) => {
      const parts = path.split('/').slice(1);
      return [...parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`), `${path}/below`];
    }),
  ),
];
const cases = (Object.keys(ENTRIES) as Kind[]).flatMap((kind) =>
  places.map((path) => [kind, path] as const),
);

it.each(cases)('%s at %s are refused when rendered, or can be served', (kind, path) => {
  if (refusalsOf(kind, path).length > 0) return;

  expect(() => serve(kind, path)).not.toThrow();
});

it('names the config, the field and what new machines get', () => {
  const authority = FIRST_BOOT_FILE.KUBELET_AUTHORITY;
  const cloud = '/etc/kubernetes/static-pod-resources/configmaps';
  const field = (kind: Kind) => `MachineConfig 50-own: spec.config.storage.${kind}[0].path`;

  expect(refusalsOf('links', authority)).toEqual([
    `${field('links')}: no link may be at ${authority}: new hosts get a file here; choose another path`,
  ]);
  expect(refusalsOf('links', cloud)).toEqual([
    `${field('links')}: no link may be at ${cloud}: new hosts get the file ${FIRST_BOOT_FILE.CLOUD_AUTHORITY} below it; choose another path`,
  ]);
  expect(refusalsOf('files', `${authority}/below`)).toEqual([
    `${field('files')}: no file may be at ${authority}/below: new hosts get a file at ${authority}; choose another path`,
  ]);
});

it('leaves a config its own kubeconfig, authorities and directories', () => {
  expect([
    ...refusalsOf('links', FIRST_BOOT_FILE.KUBECONFIG),
    ...refusalsOf('files', FIRST_BOOT_FILE.KUBECONFIG),
    ...refusalsOf('files', FIRST_BOOT_FILE.KUBELET_AUTHORITY),
    ...refusalsOf('files', FIRST_BOOT_FILE.CLOUD_AUTHORITY),
    ...refusalsOf('directories', '/etc/kubernetes/static-pod-resources'),
    ...refusalsOf('links', '/etc/kubernetes/kubelet-ca.crt.d'),
  ]).toEqual([]);
});
