/**
 * The machine's own configuration decides on registries and signatures: certificates, credentials, mirrors and
 * signature policy, on a machine that ostree takes for booted, with the real programs and a real registry with TLS
 * and a password.
 */

import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OsDriver } from '../../../../adapters/host/os/driver';
import { failureName, messageOf } from '../../../../core/errors';
import {
  GUARDED_PASSWORD,
  type GuardedRegistry,
  createSigner,
  ensureVerifyingSkopeo,
  SIGNATURES_BESIDE_IMAGES,
  type Signer,
  startGuardedRegistry,
} from '../../../../tools/registry';
import { bootTree, type BootedTree, ostreeDriverOf } from './booted-tree';

// The program may have to be built.
jest.setTimeout(30 * 60_000);

const CONTEXT = { signal: new AbortController().signal, progress: (): void => undefined };
const CREDENTIALS = 'etc/ostree/auth.json';
const NOWHERE = 'images.example.com/os';

let tree: BootedTree;
let driver: OsDriver;
let guarded: GuardedRegistry;
/** The new image, in the open registry. */
let image: string;

beforeAll(async () => {
  tree = await bootTree('v1');
  driver = await ostreeDriverOf(tree);
  image = await tree.publish('v2');
  guarded = await startGuardedRegistry(tree.registry);
});

afterAll(async () => {
  await guarded?.stop();
  await tree?.close();
});

afterEach(async () => {
  await driver.discard();
});

async function put(path: string, content: string | object): Promise<void> {
  const place = join(tree.root, path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, typeof content === 'string' ? content : JSON.stringify(content));
}

async function layersOf(reference: string): Promise<readonly string[]> {
  const [, name, digest] = /^[^/]+\/(.*)@(.*)$/.exec(reference) ?? [];
  const answer = await fetch(`http://${tree.registry.address}/v2/${name}/manifests/${digest}`, {
    headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
  const { layers } = (await answer.json()) as { readonly layers: readonly { digest: string }[] };
  return layers.map((layer) => layer.digest);
}

interface Refusal {
  readonly name: string | undefined;
  readonly message: string;
}

/** The errors of check and staging; the machine is unchanged, and no layer was requested. */
async function refusals(wanted: string): Promise<readonly Refusal[]> {
  const before = await driver.status();
  const found: Refusal[] = [];
  const attempts = [driver.checkImage, driver.stage].map(
    (attempt) => () => attempt(wanted, CONTEXT),
  );
  for (const attempt of attempts) {
    const error: unknown = await attempt().then(
      () => undefined,
      (refused: unknown) => refused,
    );
    found.push({ name: failureName(error), message: messageOf(error) });
  }
  expect(await driver.status()).toEqual(before);
  expect(before.staged).toBeUndefined();
  return found;
}

describe('a registry with TLS and a password, as a mirror', () => {
  const wanted = () => image.replace(/^.*@/, `${NOWHERE}@`);
  const trust = () =>
    put(`etc/containers/certs.d/${guarded.registry.address}/ca.crt`, guarded.authority);

  beforeAll(async () => {
    const mirror = `[[registry.mirror]]\nlocation = "${guarded.registry.address}/os"\n`;
    const settings = `[[registry]]\nlocation = "${NOWHERE}"\n${mirror}`;
    await put('etc/containers/registries.conf.d/70-mirror.conf', settings);
  });

  it('whose certificate the machine does not trust is named with that', async () => {
    await put(CREDENTIALS, guarded.credentials(GUARDED_PASSWORD));
    for (const { name, message } of await refusals(wanted())) {
      expect(name).toBe('PullFailed');
      expect(message).toContain('x509');
    }
  });

  it('refuses a wrong password, which is in no message', async () => {
    await trust();
    const wrong = `${GUARDED_PASSWORD}-but-wrong`;
    await put(CREDENTIALS, guarded.credentials(wrong));
    for (const { name, message } of await refusals(wanted())) {
      expect(name).toBe('PullFailed');
      expect(message).toMatch(/unauthorized|authentication required/i);
      expect(message).not.toContain(GUARDED_PASSWORD);
      expect(message).not.toContain(Buffer.from(`puller:${wrong}`).toString('base64'));
    }
  });

  it('gives the image with the right one, under the name that was asked for', async () => {
    await trust();
    await put(CREDENTIALS, guarded.credentials(GUARDED_PASSWORD));
    await driver.stage(wanted(), CONTEXT);
    expect((await driver.status()).staged).toMatchObject({ image: wanted(), locked: true });
  });
});

describe('the signature policy of the machine', () => {
  const ACCEPT = { type: 'insecureAcceptAnything' };
  const NO_KEY = { type: 'signedBy', keyType: 'GPGKeys', keyPath: '/etc/nobody.gpg' };
  const policy = async (requirement: object, byDefault: object = ACCEPT): Promise<void> => {
    const docker = { [`${tree.registry.address}/os`]: [requirement] };
    await put('etc/containers/policy.json', { default: [byDefault], transports: { docker } });
  };

  it('refuses what it rejects before the registry is asked, with its scope', async () => {
    await policy({ type: 'reject' });
    const { result, blobs } = await tree.registry.during(() => refusals(image));
    for (const { name, message } of result) {
      expect(name).toBe('ImageRefused');
      expect(message).toContain(`scope ${tree.registry.address}/os) rejects image ${image}`);
    }
    expect(blobs).toEqual([]);
  });

  it('refuses an image without the signature that it wants', async () => {
    await policy(NO_KEY);
    for (const { name, message } of await refusals(image)) {
      // A skopeo that cannot verify is refused at once; one that can asks the registry first.
      expect(['ImageRefused', 'PullFailed']).toContain(name);
      expect(message).toMatch(/signature/);
    }
  });

  describe('with a skopeo that verifies', () => {
    const KEY = 'etc/pki/os-images.pub';
    const SIGNED = { type: 'sigstoreSigned', keyPath: `/${KEY}` };
    const program = () => join(dirname(tree.root), 'programs', 'skopeo');
    let signer: Signer;
    let stranger: Signer;

    beforeAll(async () => {
      signer = await createSigner();
      stranger = await createSigner();
      const folder = join(dirname(program()), 'skopeo-that-verifies');
      await cp(await ensureVerifyingSkopeo(), folder, { recursive: true, verbatimSymlinks: true });
      await symlink('skopeo-that-verifies/skopeo', program());
      await put('etc/containers/registries.d/50-signatures.yaml', SIGNATURES_BESIDE_IMAGES);
    });

    afterAll(async () => {
      await rm(program(), { force: true });
      await signer?.close();
      await stranger?.close();
    });

    it.each([
      { what: 'no signature', sign: async () => undefined },
      { what: 'the signature of somebody else', sign: () => stranger.sign(image) },
      { what: 'a signature for another repository', sign: () => signer.sign(image, NOWHERE) },
    ])('refuses an image with $what, before a layer is pulled', async ({ sign }) => {
      await sign();
      await put(KEY, signer.publicKey);
      await policy(SIGNED);
      const { result, blobs } = await tree.registry.during(() => refusals(image));
      for (const { name, message } of result) {
        expect(name).toBe('ImageRefused');
        expect(message).toMatch(/^the signature policy of this host does not take .*signature/);
      }
      const layers = await layersOf(image);
      expect(blobs.filter(({ digest }) => layers.includes(digest))).toEqual([]);
    });

    it.each([
      { where: 'its scope', byDefault: ACCEPT },
      { where: 'the default', byDefault: { type: 'reject' } },
    ])('takes it with a good signature where $where asks for one', async ({ byDefault }) => {
      await signer.sign(image);
      await put(KEY, signer.publicKey);
      await policy(SIGNED, byDefault);
      await driver.checkImage(image, CONTEXT);
      await driver.stage(image, CONTEXT);
      expect((await driver.status()).staged).toMatchObject({ image, locked: true });
    });

    it('still blames a registry that is away, and not the policy', async () => {
      await put(KEY, signer.publicKey);
      await policy(SIGNED, SIGNED);
      const away = `127.0.0.1:1/os@${image.replace(/^.*@/, '')}`;
      for (const { name } of await refusals(away)) expect(name).toBe('PullFailed');
    });
  });

  it('takes an image again once it asks for nothing', async () => {
    await policy(ACCEPT);
    await driver.stage(image, CONTEXT);
    expect((await driver.status()).staged).toMatchObject({ image });
  });
});
