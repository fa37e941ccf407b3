import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { repositoryRoot } from '../../../tools/repository-root';
import type { HostServer, Product } from '../../../tools/stack/product';
import type { TemporalServer } from '../../../tools/temporal';
import { hostSettings } from '../machine/join';

interface InstallerPlace {
  /** `deploy/installer` or `deploy/remover`. */
  readonly base: string;
  readonly version: string;
  readonly temporal: Pick<TemporalServer, 'namespace'>;
  readonly product: HostServer & Pick<Product, 'orderKeys'>;
  /** PEM: by which machines recognise the server. */
  readonly authority: string;
}

/** Writes an overlay as docs/install.md has it, for `kubectl apply -k`. */
export async function writeInstallerOverlay(overlay: string, place: InstallerPlace): Promise<void> {
  const { base, version, temporal, product, authority } = place;
  const authorityFile = '/etc/slipway/server-ca.crt';
  const settings = { authorityFile, temporalNamespace: temporal.namespace };
  const text = hostSettings({ ...product, settings });
  await mkdir(overlay, { recursive: true });
  await writeFile(join(overlay, 'host.yaml'), text);
  await writeFile(join(overlay, 'server-ca.crt'), authority);
  await writeFile(join(overlay, 'order-keys.json'), product.orderKeys);
  const image = { newName: 'localhost/slipway-host', newTag: version };
  const of = { name: 'slipway-host-settings', namespace: 'slipway-installer' };
  const files = ['host.yaml', 'server-ca.crt', 'order-keys.json'];
  await writeFile(
    join(overlay, 'kustomization.yaml'),
    stringify({
      resources: [relative(overlay, join(repositoryRoot(), base))],
      images: [{ name: 'registry.example.com/slipway-host', ...image }],
      generatorOptions: { disableNameSuffixHash: true },
      configMapGenerator: [{ ...of, behavior: 'merge', files }],
    }),
  );
}
