/** TLS by its own authority; name and password for every request. */

import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateUse, issueCertificate, newAuthority } from '../cluster/certificates';
import { type Registry, startRegistry } from './registry';

const USER = 'puller';
export const GUARDED_PASSWORD = 'open-sesame-of-the-story';
/** bcrypt of the password, at the lowest cost. */
const HTPASSWD = `${USER}:$2b$04$OSTeVMlEU3dhLvw8cP6cM.6EruknRBePEyHz8y7.EvkAII4jQRpUW\n`;
const HOST = '127.0.0.1';

export interface GuardedRegistry {
  readonly registry: Registry;
  /** PEM of the authority that signed its certificate. */
  readonly authority: string;
  /** For rpm-ostree and bootc; any other password than PASSWORD is wrong. */
  credentials(password: string): string;
  stop(): Promise<void>;
}

/** With the images of `open`, which must be there already. */
export async function startGuardedRegistry(open: Registry): Promise<GuardedRegistry> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-guarded-'));
  await symlink(join(open.directory, 'storage'), join(directory, 'storage'));
  const authority = await newAuthority('guarded-registry');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: HOST },
    use: CertificateUse.SERVER,
    addresses: [HOST],
  });
  const tls = { certificate, key, authority: authority.certificate };
  const registry = await startRegistry({ directory, htpasswd: HTPASSWD, tls });
  return {
    registry,
    authority: authority.certificate,
    credentials: (password) => {
      const auth = Buffer.from(`${USER}:${password}`).toString('base64');
      return JSON.stringify({ auths: { [registry.address]: { auth } } });
    },
    async stop() {
      await registry.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
