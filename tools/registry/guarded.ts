/** TLS by its own authority; name and password for every request. */

import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../processes/free-ports';
import { CertificateUse, issueCertificate, newAuthority } from '../cluster/certificates';
import { type Registry, startRegistry } from './registry';

const USER = 'puller';
export const GUARDED_PASSWORD = 'open-sesame-of-the-story';
/** bcrypt of the password, at the lowest cost. */
const HTPASSWD = `${USER}:$2b$04$OSTeVMlEU3dhLvw8cP6cM.6EruknRBePEyHz8y7.EvkAII4jQRpUW\n`;

export interface GuardedRegistry {
  readonly registry: Registry;
  /** PEM of the authority that signed its certificate. */
  readonly authority: string;
  /** For rpm-ostree and bootc; any other password than PASSWORD is wrong. */
  credentials(password: string): string;
  stop(): Promise<void>;
}

/** With the images of `open`, which must be there already. @param host - an address of this machine */
export async function startGuardedRegistry(
  open: Registry,
  host = '127.0.0.1',
): Promise<GuardedRegistry> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-guarded-'));
  await symlink(join(open.directory, 'storage'), join(directory, 'storage'));
  const authority = await newAuthority('guarded-registry');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: host },
    use: CertificateUse.SERVER,
    addresses: [host],
  });
  const tls = { certificate, key, authority: authority.certificate };
  const address = `${host}:${String((await freePorts(1))[0])}`;
  const registry = await startRegistry({ address, directory, htpasswd: HTPASSWD, tls });
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
