/** Files of registries, read by the parsers of CRI-O and containerd. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';

import { POLICY_JSON, REGISTRIES_CONF } from '../../../core/containers-files';
import type { GeneratedFile } from '../../../core/generated-configs';
import {
  containerdRegistries,
  type MirrorRule,
  type MirrorSets,
  type RegistrySources,
} from '../../../core/registries';
import { editRegistries } from '../../../core/registries/edit-registries';
import { updatePolicyJson } from '../../../core/registries/policy-json';
import { EMPTY_CONF, registriesConfText } from '../../../core/registries/registries-conf';
import { ensureImageRegistries } from '../../../tools/image-registries/program';
import { isJsonObject } from '../../conformance/kind';
import { askParsers, type ParserAnswer } from './image-registries';

const VECTORS = join(__dirname, '../../conformance/cases/registries.json');
const DIGEST = `@sha256:${'a'.repeat(64)}`;
const NO_MIRRORS: MirrorSets = {
  contentSourcePolicies: [],
  digestMirrorSets: [],
  tagMirrorSets: [],
};

let program: string;

beforeAll(async () => {
  program = await ensureImageRegistries();
}, 600_000);

async function ask(
  files: readonly GeneratedFile[],
  images: readonly string[] = [],
): Promise<ParserAnswer> {
  const root = mkdtempSync(join(tmpdir(), 'image-registries-'));
  try {
    return await askParsers({ program, root, files, images });
  } finally {
    rmSync(root, { recursive: true });
  }
}

interface VectorFile extends GeneratedFile {
  readonly mode: string;
}

/** The files of each case that makes some, by its name. */
function vectors(): readonly (readonly [string, readonly VectorFile[]])[] {
  const file: unknown = JSON.parse(readFileSync(VECTORS, 'utf8'));
  const cases: unknown = isJsonObject(file) ? file['cases'] : undefined;
  if (!Array.isArray(cases)) throw new Error(`${VECTORS} has no cases`);
  return cases.filter(isJsonObject).flatMap(({ name, expected }) => {
    const made = isJsonObject(expected) ? expected['machineConfigs'] : undefined;
    const first: unknown = Array.isArray(made) ? made[0] : undefined;
    const files = isJsonObject(first) ? first['files'] : undefined;
    if (!Array.isArray(files) || files.length === 0) return [];
    return [[String(name), files as readonly VectorFile[]] as const];
  });
}

describe('the files of the vectors', () => {
  it.each(vectors())('%s', async (name, files) => {
    const answer = await ask(files);
    // The one thing that MCO accepts and CRI-O does not.
    const refused = name.includes('scheme') ? 'URI schemes are not supported' : '';
    expect(answer.registriesError ?? '').toContain(refused);
    if (refused === '') expect(answer.registriesError).toBeUndefined();
    expect(answer.attachmentsError).toBeUndefined();
    const policies = Object.entries(answer.policies).filter(([, { error }]) => error !== undefined);
    expect(policies).toEqual([]);
  });
});

const HOSTS = ['s.test', 'u.test:5000', 't.test', 'docker.io'];
const MIRRORS = ['m.test', 'm.test/x', 'n.test:443/y/z', 'i.test', 'b.test/w'];
const hosts = (max: number) =>
  fc.uniqueArray(fc.constantFrom(...HOSTS, 'i.test', 'b.test'), { maxLength: max });

const rules: fc.Arbitrary<readonly MirrorRule[]> = fc.uniqueArray(
  fc.record({
    source: fc.constantFrom(...HOSTS),
    mirrors: fc.uniqueArray(fc.constantFrom(...MIRRORS), { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 3, selector: ({ source }) => source },
);

const wishes = fc.record({
  insecure: hosts(2),
  blocked: hosts(2),
  allowed: fc.oneof(fc.constant([]), hosts(3)),
  byDigest: rules,
  byTag: rules,
  never: fc.boolean(),
});

interface Wishes {
  readonly insecure: readonly string[];
  readonly blocked: readonly string[];
  readonly byDigest: readonly MirrorRule[];
  readonly byTag: readonly MirrorRule[];
  readonly never: boolean;
}

function mirrorsOf({ byDigest, byTag, never }: Wishes): MirrorSets {
  const withPolicy = (rule: MirrorRule): MirrorRule =>
    never ? { ...rule, mirrorSourcePolicy: 'NeverContactSource' } : rule;
  const metadata = { name: 'generated' };
  return {
    ...NO_MIRRORS,
    digestMirrorSets: [{ metadata, spec: { imageDigestMirrors: byDigest.map(withPolicy) } }],
    tagMirrorSets: [{ metadata, spec: { imageTagMirrors: byTag.map(withPolicy) } }],
  };
}

const IMAGES = [...HOSTS, 'other.test'].flatMap((host) => [
  `${host}/a/b:1`,
  `${host}/a/b${DIGEST}`,
]);

/** What containerd asks for manifests, as CRI-O's parser names its places. */
function askedFor(answer: ParserAnswer, image: string): readonly string[] {
  const { asked } = answer.images[image]?.containerd ?? { asked: [] };
  return asked
    .filter(({ url }) => url.includes('/manifests/'))
    .map(({ url, verified }) => {
      const name = url.replace(/^https?:\/\/|\/manifests\/.*$/g, '').replace('/v2/', '/');
      return `${name.replace('registry-1.docker.io', 'docker.io')}${verified ? '' : ' insecure'}`;
    });
}

function crioPlaces(answer: ParserAnswer, image: string): readonly string[] {
  const { sources, error } = answer.images[image]?.crio ?? { sources: [], error: 'no answer' };
  expect(error).toBeUndefined();
  return sources
    .filter(({ blocked }) => !blocked)
    .map(({ name, insecure }) => `${name}${insecure ? ' insecure' : ''}`);
}

describe('whole registries', () => {
  it('mean the same to CRI-O and to containerd', async () => {
    await fc.assert(
      fc.asyncProperty(wishes, async (given) => {
        const mirrors = mirrorsOf(given);
        const { insecure, blocked } = given;
        const conf = editRegistries(EMPTY_CONF, { insecure, blocked, mirrors });
        const sources = { insecureRegistries: insecure, blockedRegistries: blocked };
        const { files, problems } = containerdRegistries({ registrySources: sources }, mirrors);
        // Of two orders, containerd can have one.
        const others = problems.filter(({ problem }) => !problem.includes('in one order'));
        expect(others).toEqual([]);
        fc.pre(problems.length === 0);
        const contents = registriesConfText(conf);
        const answer = await ask([...files, { path: REGISTRIES_CONF, contents }], IMAGES);
        expect(answer.registriesError).toBeUndefined();
        for (const image of IMAGES) {
          const [crio, containerd] = [crioPlaces(answer, image), askedFor(answer, image)];
          // By digest, containerd asks the mirrors for tags, too.
          const wanted = image.includes('@')
            ? containerd.filter((place) => crio.includes(place))
            : containerd;
          expect([image, ...wanted]).toEqual([image, ...crio]);
        }
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it('that are not allowed are asked by neither', async () => {
    await fc.assert(
      fc.asyncProperty(hosts(3), async (allowed) => {
        fc.pre(allowed.length > 0);
        const registrySources: RegistrySources = { allowedRegistries: allowed };
        const { files } = containerdRegistries({ registrySources }, NO_MIRRORS);
        const contents = updatePolicyJson(
          '{"default":[{"type":"insecureAcceptAnything"}]}',
          { allowed },
          { releaseImage: '', cluster: new Map() },
        );
        const policy = { path: POLICY_JSON, contents };
        const conf = { path: REGISTRIES_CONF, contents: registriesConfText(EMPTY_CONF) };
        const answer = await ask([...files, policy, conf], IMAGES);
        for (const image of IMAGES) {
          const [requirement] = answer.policies[POLICY_JSON]?.requirements[image] ?? [];
          const isAsked = askedFor(answer, image).length > 0;
          expect([image, isAsked]).toEqual([image, requirement?.type === 'insecureAcceptAnything']);
        }
      }),
      { numRuns: 20, seed: 1 },
    );
  });
});
