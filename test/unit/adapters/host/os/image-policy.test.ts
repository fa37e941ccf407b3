import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readImageDemand } from '../../../../../adapters/host/os/image-policy';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const ACCEPT = [{ type: 'insecureAcceptAnything' }];
const REJECT = [{ type: 'reject' }];
const SIGNED = [{ type: 'sigstoreSigned', keyPath: '/etc/pki/key.pub' }];

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'slipway-policy-'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(text: string, place = 'etc/containers/policy.json'): Promise<void> {
  const path = join(root, place);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const ask = (image = `registry.example:5000/team/os@${DIGEST}`) => readImageDemand(root, image);

it.each([
  { name: 'the default', docker: {}, demand: 'reject', scope: 'default' },
  { name: 'the transport', docker: { '': ACCEPT }, demand: 'accept', scope: 'docker' },
  {
    name: 'a host before the transport',
    docker: { '': ACCEPT, 'registry.example:5000': SIGNED },
    demand: 'signed',
    scope: 'registry.example:5000',
  },
  {
    name: 'a namespace before its host',
    docker: { 'registry.example:5000': ACCEPT, 'registry.example:5000/team': REJECT },
    demand: 'reject',
    scope: 'registry.example:5000/team',
  },
  {
    name: 'a repository before its namespace',
    docker: { 'registry.example:5000/team': REJECT, 'registry.example:5000/team/os': ACCEPT },
    demand: 'accept',
    scope: 'registry.example:5000/team/os',
  },
  {
    name: 'the reference before everything',
    docker: {
      'registry.example:5000/team/os': REJECT,
      [`registry.example:5000/team/os@${DIGEST}`]: ACCEPT,
    },
    demand: 'accept',
    scope: `registry.example:5000/team/os@${DIGEST}`,
  },
  { name: 'a wildcard', docker: { '*.example': SIGNED }, demand: 'signed', scope: '*.example' },
  {
    name: 'not a neighbour with a longer name',
    docker: { 'registry.example:5000/team/o': ACCEPT },
    demand: 'reject',
    scope: 'default',
  },
])('takes $name', async ({ docker, demand, scope }) => {
  await put(JSON.stringify({ default: REJECT, transports: { docker } }));
  expect(await ask()).toMatchObject({ demand, scope });
});

it.each([
  { name: 'GPG', requirements: [{ type: 'signedBy', keyType: 'GPGKeys' }], demand: 'signed' },
  { name: 'two of which one rejects', requirements: [...SIGNED, ...REJECT], demand: 'reject' },
  { name: 'two of which one signs', requirements: [...ACCEPT, ...SIGNED], demand: 'signed' },
  { name: 'a kind of tomorrow', requirements: [{ type: 'quantum' }], demand: 'signed' },
  { name: 'none', requirements: [], demand: 'reject' },
])('reads the requirement $name', async ({ requirements, demand }) => {
  await put(JSON.stringify({ default: requirements }));
  expect((await ask()).demand).toBe(demand);
});

it('asks for nothing without a policy', async () => {
  expect(await ask()).toEqual({ demand: 'accept', scope: 'default', acceptsByDefault: true });
});

it('reads the policy of the distribution only when the host has none', async () => {
  await put(JSON.stringify({ default: REJECT }), 'usr/share/containers/policy.json');
  expect((await ask()).demand).toBe('reject');
  await put(JSON.stringify({ default: ACCEPT }));
  expect((await ask()).demand).toBe('accept');
});

it.each(['{', '{"default": "reject"}', '{}', '[]'])(
  'refuses the broken policy %s',
  async (text) => {
    await put(text);
    await expect(ask()).rejects.toMatchObject({
      name: 'ImageRefused',
      message: expect.stringContaining('etc/containers/policy.json cannot be read') as string,
    });
  },
);
