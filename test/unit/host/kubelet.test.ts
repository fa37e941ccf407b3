/** Finds the kubelet of a machine, on directory trees as each distribution lays them out. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConfigClient, learnedAuthorityFile } from '../../../adapters/host';
import type { KubeletSettings } from '../../../core/machine/kubelet';
import { KubeletEndpoint, kubeletFinder, lookForKubelet } from '../../../host/kubelet';
import { createLogger } from '../../../process/logging';
import * as machines from './a-machine';
import { agentOf, enabledUnit, installedUnit, layOut, ROTATED, type Tree } from './a-machine';

const PEM = '/var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem';
const OF_K3S = '/var/lib/rancher/k3s/agent';
const OF_RKE2 = '/var/lib/rancher/rke2/agent';

const K3S = '/etc/systemd/system/k3s.service';
const STARTS_K3S = { '/etc/systemd/system/multi-user.target.wants/k3s.service': `-> ${K3S}` };

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'slipway-machine-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const find = (tree: Tree, kubelet: KubeletSettings = {}) => {
  layOut(root, tree);
  return lookForKubelet({ root, kubelet });
};

/** Files below `/`, with the paths that the process uses. */
const files = (certificateFile: string, keyFile: string, authorityFile: string) => ({
  certificateFile: `${root}${certificateFile}`,
  keyFile: `${root}${keyFile}`,
  authorityFile: `${root}${authorityFile}`,
});
const ofRancher = (agent: string) =>
  files(`${agent}/client-kubelet.crt`, `${agent}/client-kubelet.key`, `${agent}/server-ca.crt`);

describe('the kubelet of a machine', () => {
  it.each([
    ['kubeadm', 'kubeadm', 'kubelet.service', machines.KUBEADM],
    ['OKD', 'okd', 'kubelet.service', machines.OKD],
    ['a k3s server', 'k3s', 'k3s.service', machines.K3S_SERVER],
    ['a k3s agent', 'k3s', 'k3s-agent.service', machines.K3S_AGENT],
    ['an RKE2 server', 'rke2', 'rke2-server.service', machines.RKE2_SERVER],
    ['an RKE2 agent', 'rke2', 'rke2-agent.service', machines.RKE2_AGENT],
  ])('is found on %s', (_, distribution, kubeletUnit, tree) => {
    const places = {
      kubeadm: () => files(PEM, PEM, '/etc/kubernetes/pki/ca.crt'),
      okd: () => files(PEM, PEM, '/etc/kubernetes/ca.crt'),
      k3s: () => ofRancher(OF_K3S),
      rke2: () => ofRancher(OF_RKE2),
    }[distribution as 'kubeadm'];

    expect(find(tree)).toEqual({ distribution, kubeletUnit, ...places(), missing: {} });
  });

  it('is found where nothing says whose it is', () => {
    const tree = {
      ...installedUnit('kubelet.service', '/lib/systemd/system'),
      ...ROTATED,
      '/etc/kubernetes/ca.crt': 'PEM',
    };

    expect(find(tree)).toMatchObject({ distribution: 'kubelet', missing: {} });
  });

  it('has the authority that a person has put beside that of kubeadm', () => {
    const tree = { ...machines.KUBEADM, '/etc/kubernetes/ca.crt': 'PEM' };

    expect(find(tree)).toMatchObject({
      distribution: 'kubeadm',
      authorityFile: `${root}/etc/kubernetes/ca.crt`,
    });
  });

  it.each([
    ['enabled, of two that are there', { ...installedUnit('k3s.service') }],
    ['enabled, of two of which one is masked', { ...STARTS_K3S, [K3S]: '-> /dev/null' }],
    ['enabled, of two of which one is masked by an empty file', { ...STARTS_K3S, [K3S]: '' }],
    ['enabled, beside a kubelet that was left behind', installedUnit('kubelet.service')],
    ['enabled with its certificate, beside one without', enabledUnit('kubelet.service')],
  ])('is the one that is %s', (_, more) => {
    expect(find({ ...machines.K3S_AGENT, ...more })).toMatchObject({
      distribution: 'k3s',
      kubeletUnit: 'k3s-agent.service',
      missing: {},
    });
  });

  it('has its files also where its unit has a name that nobody knows, and says so', () => {
    expect(find({ ...enabledUnit('k3s-blue.service'), ...agentOf('k3s') })).toEqual({
      distribution: 'k3s',
      ...ofRancher(OF_K3S),
      missing: {
        kubeletUnit: expect.stringMatching(
          /none of kubelet\.service, k3s\.service, .* is there; kubeletUnit names another/,
        ) as string,
      },
    });
  });

  it.each<[string, Tree, KubeletSettings, object]>([
    ['unit', machines.K3S_AGENT, { kubeletUnit: 'k3s.service' }, { kubeletUnit: 'k3s.service' }],
    [
      'unit of no known name',
      machines.KUBEADM,
      { kubeletUnit: 'my-kubelet.service' },
      { distribution: 'kubelet', kubeletUnit: 'my-kubelet.service', missing: {} },
    ],
    [
      'certificate and key',
      machines.OKD,
      { certificateFile: '/a.crt', keyFile: '/a.key' },
      { distribution: 'okd', certificateFile: '/a.crt', keyFile: '/a.key' },
    ],
    [
      'certificate with its key in it',
      machines.RKE2_AGENT,
      { certificateFile: '/a.pem' },
      { certificateFile: '/a.pem', keyFile: '/a.pem', missing: {} },
    ],
    [
      'authority',
      machines.RKE2_SERVER,
      { authorityFile: '/my-ca.crt' },
      { distribution: 'rke2', authorityFile: '/my-ca.crt' },
    ],
    [
      'everything, where nothing is found',
      {},
      { kubeletUnit: 'k0sworker.service', certificateFile: '/k.pem', authorityFile: '/ca.crt' },
      { kubeletUnit: 'k0sworker.service', keyFile: '/k.pem', missing: {} },
    ],
  ])('is as a person has set it: %s', (_, tree, set, found) => {
    expect(find(tree, set)).toMatchObject(found);
  });
});

describe('a machine that has not joined yet', () => {
  it.each([
    ['k3s', enabledUnit('k3s-agent.service'), OF_K3S, 'server-ca.crt'],
    ['RKE2', enabledUnit('rke2-agent.service'), OF_RKE2, 'server-ca.crt'],
  ])('names what it waits for, and the setting that names another: %s', (_, tree, agent) => {
    expect(find(tree).missing).toEqual({
      certificateFile:
        `client certificate of the kubelet: no ${agent}/client-kubelet.crt with ` +
        `${agent}/client-kubelet.key yet; certificateFile and keyFile name others`,
      authorityFile: `authority of the cluster: no ${agent}/server-ca.crt yet; authorityFile names another`,
    });
  });

  it('waits for that of its new distribution, beside all that an earlier one has left', () => {
    const { distribution, missing } = find({
      ...Object.fromEntries(
        Object.entries(machines.KUBEADM).filter(([path]) => !path.includes('.wants/')),
      ),
      ...enabledUnit('rke2-agent.service'),
    });

    expect(distribution).toBe('rke2');
    expect(missing).toHaveProperty('certificateFile');
  });

  it('waits for the certificate that the link of a kubelet leads to', () => {
    const tree = Object.entries(machines.OKD).filter(([path]) => path !== PEM);

    expect(find(Object.fromEntries(tree)).missing).toEqual({
      certificateFile: expect.stringContaining('no /var/lib/kubelet/pki/') as string,
    });
  });

  it('names all of it where nothing is installed', () => {
    expect(Object.keys(find({}).missing).sort()).toEqual([
      'authorityFile',
      'certificateFile',
      'kubeletUnit',
    ]);
  });

  it('is checked again, and what it has by then is used and logged, once', async () => {
    const logged: string[] = [];
    const destination = { write: (line: string) => logged.push(line) };
    const log = createLogger({ process: 'test', level: 'info', destination });
    layOut(root, enabledUnit('k3s-agent.service'));
    const finder = kubeletFinder({ node: 'worker-1', root, kubelet: {} }, log);
    const endpoint = new KubeletEndpoint('https://127.0.0.1:1', finder, learnedAuthorityFile(root));
    const fetched = createConfigClient(endpoint).fetch('rendered-worker-1');

    await expect(fetched).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
      message: expect.stringContaining('certificateFile and keyFile name others') as string,
    });
    layOut(root, agentOf('k3s'));

    expect(endpoint.certificateFile).toBe(`${root}${OF_K3S}/client-kubelet.crt`);
    expect(endpoint.authorityFile).toBe(`${root}${OF_K3S}/server-ca.crt`);
    expect(logged.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'kubelet not found yet; looked for when needed',
      'certificate of the kubelet cannot be read',
      'kubelet found',
    ]);
  });

  it('uses a certificate that was renewed behind its link', () => {
    const before = find(machines.KUBEADM).certificateFile;
    const pki = join(root, 'var/lib/kubelet/pki');
    writeFileSync(join(pki, 'kubelet-client-2027.pem'), 'PEM');
    rmSync(join(pki, 'kubelet-client-current.pem'));
    symlinkSync(
      '/var/lib/kubelet/pki/kubelet-client-2027.pem',
      join(pki, 'kubelet-client-current.pem'),
    );

    expect(before).toBe(`${root}${PEM}`);
    expect(find({}).certificateFile).toBe(join(pki, 'kubelet-client-2027.pem'));
  });

  it('does not take a directory of units that leads in a circle for a machine', () => {
    mkdirSync(join(root, 'etc'), { recursive: true });
    symlinkSync('systemd', join(root, 'etc/systemd'));

    expect(find({}).missing).toHaveProperty('kubeletUnit');
  });
});
