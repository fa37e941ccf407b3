import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * Slipway and the packages that go with it: SPDX 2.3. It names no time and no random number, so that the same
 * packages have the same bill.
 *
 * @param manifests - the package.json of each package
 * @see https://spdx.github.io/spdx-spec/v2.3/
 */
export function billOfMaterials(manifests) {
  const own = JSON.parse(readFileSync(join(here, '..', '..', 'package.json'), 'utf8'));
  const described = [own, ...manifests];
  const unique = new Map(described.map((one) => [`${one.name}@${one.version}`, one]));
  const idOf = (key) => `SPDXRef-${key.replaceAll(/[^A-Za-z0-9.-]+/g, '-')}`;
  const keys = [...unique.keys()].sort();
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `slipway-${own.version}`,
    documentNamespace: `https://slipway.dev/spdx/slipway-${own.version}`,
    creationInfo: {
      created: '1970-01-01T00:00:00Z',
      creators: ['Tool: slipway bill-of-materials'],
    },
    documentDescribes: [idOf(`${own.name}@${own.version}`)],
    packages: keys.map((key) => {
      const { name, version, license } = unique.get(key);
      const isSpdx = typeof license === 'string' && license !== '';
      return {
        SPDXID: idOf(key),
        name,
        versionInfo: version,
        downloadLocation: 'NOASSERTION',
        filesAnalyzed: false,
        licenseDeclared: isSpdx ? license : 'NOASSERTION',
        externalRefs: [
          {
            referenceCategory: 'PACKAGE-MANAGER',
            referenceType: 'purl',
            referenceLocator: `pkg:npm/${name.replace('@', '%40')}@${version}`,
          },
        ],
      };
    }),
  };
}
