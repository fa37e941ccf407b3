import { imageDigest, sameImage } from '../../../../core/os';

const A = `sha256:${'a'.repeat(64)}`;
const B = `sha256:${'b'.repeat(64)}`;

describe('imageDigest', () => {
  it.each([
    { reference: `host/os@${A}`, digest: A },
    { reference: `host:5000/os:v1@${A}`, digest: A },
    { reference: 'host/os:v1', digest: undefined },
    { reference: `host/os@${A.slice(0, -1)}`, digest: undefined },
    { reference: `host/os@${A.toUpperCase()}`, digest: undefined },
    { reference: `host/os@${A}/more`, digest: undefined },
    { reference: '', digest: undefined },
  ])('reads $reference', ({ reference, digest }) => {
    expect(imageDigest(reference)).toBe(digest);
  });
});

describe('sameImage', () => {
  it.each([
    { name: 'a mirror of it', left: `a/os@${A}`, right: `mirror:5000/x/os@${A}`, same: true },
    { name: 'another digest', left: `a/os@${A}`, right: `a/os@${B}`, same: false },
    { name: 'a tag and a digest', left: 'a/os:v1', right: `a/os@${A}`, same: false },
    { name: 'one tag', left: 'a/os:v1', right: 'a/os:v1', same: true },
    { name: 'two tags', left: 'a/os:v1', right: 'a/os:v2', same: false },
    { name: 'nothing on both sides', left: '', right: '', same: true },
  ])('tells $name', ({ left, right, same }) => {
    expect(sameImage(left, right)).toBe(same);
    expect(sameImage(right, left)).toBe(same);
  });
});
