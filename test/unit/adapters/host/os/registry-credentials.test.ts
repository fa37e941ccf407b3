import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { registryCredentials } from '../../../../../adapters/host/os/registry-credentials';

const OF_THIS_BOOT = 'run/ostree/auth.json';
const OF_THE_KUBELET = 'var/lib/kubelet/config.json';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'credentials-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(place: string, content: string): Promise<string> {
  const path = join(root, place);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}
const at = (place: string): Promise<string> => readFile(join(root, place), 'utf8');

it('there are none on a machine that has none', async () => {
  await expect(registryCredentials(root)).resolves.toBeUndefined();
});

it('lends those of the kubelet for this boot, to root alone', async () => {
  await put(OF_THE_KUBELET, 'pull secret');
  await expect(registryCredentials(root)).resolves.toBe(join(root, OF_THIS_BOOT));
  await expect(at(OF_THIS_BOOT)).resolves.toBe('pull secret');
  expect((await stat(join(root, OF_THIS_BOOT))).mode & 0o777).toBe(0o600);
});

it('renews what it lent when the pull secret was renewed', async () => {
  await put(OF_THE_KUBELET, 'pull secret');
  await registryCredentials(root);
  await put(OF_THE_KUBELET, 'another one');
  await registryCredentials(root);
  await expect(at(OF_THIS_BOOT)).resolves.toBe('another one');
  await put(OF_THIS_BOOT, 'of a person');
  await registryCredentials(root);
  await expect(at(OF_THIS_BOOT)).resolves.toBe('of a person');
});

it.each([OF_THIS_BOOT, 'etc/ostree/auth.json'])('leaves %s of the machine alone', async (place) => {
  await put(OF_THE_KUBELET, 'pull secret');
  const own = await put(place, 'of the machine');
  await expect(registryCredentials(root)).resolves.toBe(own);
  await expect(readFile(own, 'utf8')).resolves.toBe('of the machine');
});

it('takes those of the image where nobody has others', async () => {
  const own = await put('usr/lib/ostree/auth.json', 'of the image');
  await expect(registryCredentials(root)).resolves.toBe(own);
});
