/** The same MachineConfigs give the same rendered config in a cluster and offline. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { readManifestFiles, readManifestObjects } from '../../../adapters/manifests';
import type { ManifestObject } from '../../../adapters/manifests';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  ROLLOUT_POLICIES,
  type Resource,
} from '../../../adapters/kube/resources';
import { renderManifests, type OfflineRender } from '../../../controllers/offline';
import { VERSION } from '../../../process/version';
import { specYaml, type RenderedSpec } from '../../../core/machine-config';
import { writeFilledExamples } from '../../unit/deploy/filled-examples';
import { condition, useControllers } from './fixture';

jest.setTimeout(60_000);

const fixture = useControllers();
const RESOURCES: readonly Resource[] = [
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  ROLLOUT_POLICIES,
];
const GROUP = 'machineconfiguration.openshift.io';
const PEOPLE = join(__dirname, '..', '..', 'fixtures', 'manifests', 'people');

async function read(directory: string): Promise<readonly ManifestObject[]> {
  const { files, problems } = await readManifestFiles(directory);
  const found = readManifestObjects(files);
  expect([...problems, ...found.problems]).toEqual([]);
  return found.objects;
}

function offline(objects: readonly ManifestObject[]): OfflineRender {
  const version = VERSION;
  const given = { objects, unreadable: [], earlier: new Map(), version, rest: 'none' } as const;
  const result = renderManifests(given);
  expect(result.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  return result;
}

/** The API server parses each document as written; the tested parser does not touch it. */
async function create(text: string): Promise<void> {
  for (const yaml of text.split(/^---$/m)) {
    const kind = /^kind: *(\w+)$/m.exec(yaml)?.[1];
    const resource = RESOURCES.find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`no resource for ${kind}`);
    // The controllers have made it by now; a render does not read it.
    if (resource === MACHINE_CONFIGURATIONS) continue;
    await fixture.api.createWritten(resource, yaml);
  }
}

/** Waits for the controllers' render of each pool and compares its bytes. */
async function expectSame({ pools }: OfflineRender): Promise<void> {
  for (const { pool, rendered, sources } of pools) {
    const inCluster = await fixture.observer.pool(
      pool.metadata.name,
      (one) =>
        one.spec.configuration?.source?.length === sources.length &&
        condition(one, 'RenderDegraded')?.status === 'False',
    );
    expect(inCluster.spec.configuration?.name).toBe(rendered.name);
    const stored = await fixture.api.client.get(MACHINE_CONFIGS, { name: rendered.name });
    expect(specYaml(stored.spec as RenderedSpec)).toBe(rendered.specYaml);
    expect(stored.metadata.annotations).toEqual(rendered.annotations);
    expect(inCluster.spec.configuration?.source?.map(({ name }) => name)).toEqual(
      sources.map(({ metadata }) => metadata.name),
    );
  }
}

let filled = '';

beforeAll(() => {
  filled = mkdtempSync(join(tmpdir(), 'slipway-filled-'));
  writeFilledExamples(filled);
});

afterAll(() => {
  rmSync(filled, { recursive: true, force: true });
});

it('the samples and the examples, filled in', async () => {
  const objects = await read(filled);
  const { files } = await readManifestFiles(filled);
  for (const { text } of files) await create(text);
  const result = offline(objects);
  expect(result.pools.map(({ pool }) => pool.metadata.name)).toEqual(['infra', 'master', 'worker']);
  await expectSame(result);
});

/** As people write it, with fields that the API server drops or changes. */
const ODD = `
apiVersion: ${GROUP}/v1
kind: MachineConfigPool
metadata: {name: odd, creationTimestamp: null}
spec:
  machineConfigSelector:
    matchExpressions:
      - {key: ${GROUP}/role, operator: In, values: [odd-base, odd]}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/odd: ''}}
  maxUnavailable: null
---
apiVersion: ${GROUP}/v1
kind: MachineConfig
metadata: {name: 50-ignition-2, labels: {${GROUP}/role: odd-base}, annotations: null}
spec:
  osImageURL: null
  fips: null
  kernelArguments: null
  config:
    ignition: {version: 2.2.0, config: {}, security: {tls: {}}, timeouts: {}}
    networkd: {}
    passwd: {users: [{name: core, sshAuthorizedKeys: [ssh-ed25519 AAAA first]}]}
    storage:
      files:
        - {filesystem: root, path: /etc/two, mode: 0600, contents: {source: 'data:,two', verification: {}}}
    systemd: {units: [{name: two.service, enabled: yes, contents: "[Unit]\\nDescription=two\\n"}]}
---
apiVersion: ${GROUP}/v1
kind: MachineConfig
metadata: {name: 10-everything, labels: {${GROUP}/role: odd}}
spec:
  kernelArguments: [quiet, 'audit=1', quiet]
  extensions: [usbguard, kerberos]
  kernelType: realtime
  fips: false
  osImageURL: registry.example.com/os/other@sha256:${'2'.repeat(64)}
  baseOSExtensionsContainerImage: registry.example.com/os/extensions@sha256:${'3'.repeat(64)}
  config:
    ignition: {version: 3.4.0}
    storage:
      files:
        - &file
          path: /etc/zero
          mode: 0o644
          overwrite: true
          contents: {source: "data:,%E2%82%AC%20yes", compression: ""}
        - {<<: *file, path: /etc/one, mode: 0x1a4}
        - {path: /etc/binary, mode: 0b110_100_100, overwrite: on, contents: {source: 'data:,1_000'}}
        - {"path": "/etc/float", "mode": 420.0, "overwrite": y, "contents": {"source": "data:,y"}}
    systemd:
      units:
        - name: multi.service
          contents: |
            [Unit]
            Description=Several lines: with "quotes" # and more

            [Service]
            ExecStart=/bin/true
          dropins: [{name: 10-a.conf, contents: "[Service]\\nNice=1\\n"}]
---
apiVersion: ${GROUP}/v1
kind: MachineConfig
metadata: {name: 20-empty, labels: {${GROUP}/role: odd}}
spec: {config: null, kernelTyp: dropped}
`;

it('a custom pool with Ignition 2, arguments, extensions, another image, nulls and octal modes', async () => {
  const { objects, problems } = readManifestObjects([{ path: 'odd.yaml', text: ODD }]);
  expect(problems).toEqual([]);
  await create(ODD);
  const result = offline(objects);
  // The ControllerConfig of the examples is in the cluster; its images are overridden here.
  await expectSame(result);
  const files = result.pools[0]?.rendered.spec.config.storage?.files;
  expect(files?.map(({ path, mode }) => [path, mode])).toEqual([
    ['/etc/zero', 0o644],
    ['/etc/one', 0o644],
    ['/etc/binary', 0o644],
    ['/etc/float', 0o644],
    ['/etc/two', 0o600],
  ]);
});

it('what generators and people write, which the real API server takes', async () => {
  const objects = await read(PEOPLE);
  // The pool comes last, because a later change that a running machine cannot apply would be refused.
  const poolLast = [...objects].sort((a, b) => (a.kind < b.kind ? -1 : 1));
  for (const { kind, value } of poolLast) {
    const resource = RESOURCES.find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`no resource for ${kind}`);
    await fixture.api.createWritten(resource, JSON.stringify(value));
  }
  const result = offline([...objects, ...(await read(filled))]);
  await expectSame({
    ...result,
    pools: result.pools.filter(({ pool }) => pool.metadata.name === 'people'),
  });
  const event = () =>
    fixture.observer.events.list().find(({ reason }) => reason === 'GeneratedElsewhere');
  await fixture.observer.until(fixture.observer.events, () => event() !== undefined);
  expect(event()?.message).toContain('MachineConfigs 00-people, 99-people-generated-kubelet;');
});

it('reads them as other readers of YAML do', async () => {
  for (const object of await read(filled)) {
    const documents = parseAllDocuments(readFileSync(object.file, 'utf8'));
    expect(documents.map((document) => document.toJS() as unknown)).toContainEqual(object.value);
  }
});
