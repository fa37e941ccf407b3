import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homesOf } from '../../observer/membership';
import { type Observer, startObserver } from '../../observer/observer';
import { role } from './objects';

const GROUP = '/apis/machineconfiguration.openshift.io/v1';
const TARGET = 'rendered-infra-a';
const LABELS = role('worker', 'infra');

/** Objects as the API server returns them. */
const OBJECTS: Readonly<Record<string, object>> = {
  '/api/v1/nodes': { metadata: { name: 'a', resourceVersion: '7', labels: LABELS }, spec: {} },
  [`${GROUP}/machineconfigpools`]: {
    metadata: { name: 'infra', resourceVersion: '7' },
    spec: {
      nodeSelector: { matchLabels: role('infra') },
      configuration: { name: TARGET },
    },
  },
  '/apis/slipway.dev/v1alpha1/poolrollouts': {
    metadata: { name: 'infra', resourceVersion: '7' },
    status: {
      ...{ config: TARGET, state: 'Rolling', done: '0/1', blocker: 'its nodes' },
      counts: { waiting: 3 },
      grants: [{ node: 'a', uid: 'u', run: 'r', config: TARGET, serves: true }],
    },
  },
};

let directory: string;
let server: Server;
let observer: Observer | undefined;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-observer-'));
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://here');
    const object = OBJECTS[pathname];
    const say = (event: object) => response.write(`${JSON.stringify(event)}\n`);
    response.writeHead(200, { 'content-type': 'application/json' });
    if (object !== undefined) say({ type: 'ADDED', object });
    say({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  observer?.stop();
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

test('a node, the pool that takes it by its labels, and its rollout are in the record', async () => {
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(directory, 'kubeconfig');
  const named = { name: 'here' };
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'here' },
    clusters: [{ ...named, cluster }],
    users: [{ ...named, user: {} }],
    contexts: [{ ...named, context: { cluster: 'here', user: 'here' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));

  observer = await startObserver({ kubeconfig, nodeSelector: Object.keys(LABELS).join() });

  const { record } = observer;
  expect(record.node('a')).toMatchObject({ labels: LABELS, annotations: {} });
  expect(record.pool('infra')).toMatchObject({ target: TARGET });
  expect(record.rollout('infra')).toEqual({
    ...{ name: 'infra', blocker: 'its nodes', waiting: 3 },
    grants: [{ node: 'a', run: 'r', serves: true }],
  });
  expect([...homesOf(record.nodes, record.pools)]).toEqual([['a', 'infra']]);
});
