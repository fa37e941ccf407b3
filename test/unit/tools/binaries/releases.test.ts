import { ChecksumFormat } from '../../../../tools/binaries/catalogue';
import { findChecksum } from '../../../../tools/binaries/releases';

const DIGEST = 'a'.repeat(64);

describe('findChecksum', () => {
  it.each([
    ['a bare digest', ChecksumFormat.DIGEST, `${DIGEST}\n`, DIGEST],
    ['a digest with the name', ChecksumFormat.DIGEST, `${DIGEST}  file`, DIGEST],
    ['capitals', ChecksumFormat.DIGEST, DIGEST.toUpperCase(), DIGEST],
    ['an error page', ChecksumFormat.DIGEST, '<html>', undefined],
    ['a list', ChecksumFormat.LIST, `${'b'.repeat(64)}  other\n${DIGEST}  file\n`, DIGEST],
    ['a list in binary mode', ChecksumFormat.LIST, `${DIGEST} *file\n`, DIGEST],
    ['a list without the file', ChecksumFormat.LIST, `${DIGEST}  file.sig\n`, undefined],
    ['SHA-512', ChecksumFormat.LIST, `${'a'.repeat(128)}  file\n`, undefined],
    [
      'assets',
      ChecksumFormat.GITHUB_ASSETS,
      JSON.stringify({ assets: [{ name: 'file', digest: `sha256:${DIGEST}` }] }),
      DIGEST,
    ],
    [
      'assets without digests',
      ChecksumFormat.GITHUB_ASSETS,
      JSON.stringify({ assets: [{ name: 'file', digest: null }] }),
      undefined,
    ],
    ['no assets', ChecksumFormat.GITHUB_ASSETS, '{}', undefined],
  ])('reads %s', (_name, format, text, expected) => {
    expect(findChecksum(format, text, 'file')).toBe(expected);
  });
});
