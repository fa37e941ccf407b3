/** Stored as sigstore does: beside the image. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../binaries/run-program';
import { ensureVerifyingSkopeo } from './verifying-skopeo';

/** For `registries.d`. */
export const SIGNATURES_BESIDE_IMAGES = 'default-docker:\n  use-sigstore-attachments: true\n';

export interface Signer {
  /** For the `keyPath` of a policy. */
  readonly publicKey: string;
  /**
   * Over plain HTTP.
   *
   * @param reference - with digest
   * @param name - repository that the signature names; absent = that of the reference
   */
  sign(reference: string, name?: string): Promise<void>;
  close(): Promise<void>;
}

export async function createSigner(): Promise<Signer> {
  const skopeo = join(await ensureVerifyingSkopeo(), 'skopeo');
  const work = await mkdtemp(join(tmpdir(), 'slipway-signer-'));
  const [passphrase, key, settings] = ['passphrase', 'key', 'registries.d'].map((name) =>
    join(work, name),
  ) as [string, string, string];
  await writeFile(passphrase, 'of the story\n', { mode: 0o600 });
  await mkdir(settings);
  await writeFile(join(settings, 'all.yaml'), SIGNATURES_BESIDE_IMAGES);
  const words = ['generate-sigstore-key', '--output-prefix', key, '--passphrase-file', passphrase];
  await run(skopeo, words, process.env);
  return {
    publicKey: await readFile(`${key}.pub`, 'utf8'),
    sign: async (reference, name) => {
      const repository = reference.replace(/@.*$/, '');
      await run(
        skopeo,
        [
          ...['--registries.d', settings, 'copy', '--quiet', '--preserve-digests'],
          ...['--src-tls-verify=false', '--dest-tls-verify=false'],
          ...[`--sign-by-sigstore-private-key=${key}.private`],
          ...[`--sign-passphrase-file=${passphrase}`],
          ...[`--sign-identity=${name ?? repository}:signed`],
          ...[`docker://${reference}`, `docker://${repository}:signed`],
        ],
        process.env,
      );
    },
    close: () => rm(work, { recursive: true }),
  };
}
