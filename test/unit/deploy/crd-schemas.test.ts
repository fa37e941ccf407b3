import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import * as schemas from '../../../adapters/api-schemas';

const CRDS = join(__dirname, '..', '..', '..', 'deploy', 'crds');

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

type Schema = Readonly<Record<string, unknown>>;

/** Common form of both schema languages: a path per field and its allowed values. */
type Facts = Record<string, string>;

const crds = readdirSync(CRDS).map((file) => parse(readFileSync(join(CRDS, file), 'utf8')) as Crd);

const KINDS: Readonly<Record<string, z.ZodType>> = {
  MachineConfig: schemas.MachineConfig,
  MachineConfigPool: schemas.MachineConfigPool,
  MachineConfigNode: schemas.MachineConfigNode,
  ControllerConfig: schemas.ControllerConfig,
  RolloutPolicy: schemas.RolloutPolicy,
  PoolRollout: schemas.PoolRollout,
  Slipway: schemas.Slipway,
  MachineConfiguration: schemas.MachineConfiguration,
  KubeletConfig: schemas.KubeletConfig,
  FeatureGate: schemas.FeatureGate,
  Node: schemas.ConfigNode,
  APIServer: schemas.APIServer,
  ContainerRuntimeConfig: schemas.ContainerRuntimeConfig,
  Image: schemas.Image,
  ImageDigestMirrorSet: schemas.ImageDigestMirrorSet,
  ImageTagMirrorSet: schemas.ImageTagMirrorSet,
  ImageContentSourcePolicy: schemas.ImageContentSourcePolicy,
  ClusterImagePolicy: schemas.ClusterImagePolicy,
  ImagePolicy: schemas.ImagePolicy,
  OSImageStream: schemas.OSImageStream,
  PinnedImageSet: schemas.PinnedImageSet,
};

describe('the zod schemas and the CRDs', () => {
  it('cover the same kinds', () => {
    expect(crds.map((crd) => crd.spec.names.kind).sort()).toEqual(Object.keys(KINDS).sort());
  });

  it.each(crds.map((crd) => ({ kind: crd.spec.names.kind, crd })))(
    'say the same about every field of $kind',
    ({ kind, crd }) => {
      const declared = factsOf(crd.spec.versions[0]?.schema.openAPIV3Schema ?? {});
      const schema = KINDS[kind] as z.ZodType;

      const read = factsOf(z.toJSONSchema(schema, { io: 'input' }));

      expect(Object.keys(declared).length).toBeGreaterThan(5);
      expect(read).toEqual(declared);
    },
  );

  it('notices a field that only one of them has', () => {
    const declared = factsOf({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
    });
    const read = factsOf(z.toJSONSchema(z.looseObject({ a: z.exactOptional(z.string()) })));

    expect(read).not.toEqual(declared);
  });
});

/** Of openshift/api, machineconfiguration/v1 and operator/v1. */
const OF_MCO: Readonly<Record<string, readonly string[]>> = {
  MachineConfigNode: [
    ...['conditions', 'configImage', 'configVersion', 'internalReleaseImage'],
    ...['irreconcilableChanges', 'observedGeneration', 'pinnedImageSets'],
  ],
  MachineConfiguration: [
    ...['bootImageSkewEnforcementStatus', 'conditions', 'managedBootImagesStatus'],
    ...['nodeDisruptionPolicyStatus', 'observedGeneration'],
  ],
  OSImageStream: ['availableStreams', 'defaultStream'],
  MachineConfigPool: [
    ...['certExpirys', 'conditions', 'configuration', 'degradedMachineCount', 'machineCount'],
    ...['observedGeneration', 'osImageStream', 'poolSynchronizersStatus', 'readyMachineCount'],
    ...['unavailableMachineCount', 'updatedMachineCount'],
  ],
};

it.each(Object.keys(OF_MCO))(
  'the status of a %s has no field that MCO lacks: its definition may be the one in use',
  (kind) => {
    const crd = crds.find(({ spec }) => spec.names.kind === kind);
    const fields = Object.keys(factsOf(crd?.spec.versions[0]?.schema.openAPIV3Schema ?? {}))
      .map((path) => /^status\.(\w+)$/.exec(path)?.[1])
      .filter((field) => field !== undefined);

    expect(fields.length).toBeGreaterThan(1);
    expect(fields.filter((field) => OF_MCO[kind]?.includes(field) !== true)).toEqual([]);
  },
);

describe('lists', () => {
  it('are never null', () => {
    const parsed = schemas.MachineConfig.parse({
      metadata: { name: 'a' },
      spec: { kernelArguments: null, extensions: null },
    });

    expect(parsed.spec).toEqual({ kernelArguments: [], extensions: [] });
  });
});

describe('parseObject', () => {
  it('names the object, the field and what was expected', () => {
    const broken = { metadata: { name: '99-x' }, spec: { fips: 'yes' } };

    expect(() =>
      schemas.parseObject(
        schemas.MachineConfig,
        broken,
        'machineconfig 99-x',
        'InvalidMachineConfig',
      ),
    ).toThrow('machineconfig 99-x: spec.fips: invalid input: expected boolean, received string');
  });
});

function factsOf(schema: Schema): Facts {
  const facts: Facts = {};
  collect(schema, '', facts);
  return facts;
}

function collect(given: Schema, path: string, facts: Facts): void {
  const schema = withoutNull(given);
  const at = path === '' ? '.' : path;
  const alternatives = typesOfAlternatives(schema);
  facts[at] = [
    alternatives ?? String(schema['type']),
    schema !== given || schema['nullable'] === true ? 'or null' : '',
    ...constraintsOf(schema),
  ]
    .filter((part) => part !== '')
    .join(' ');
  if (at === 'metadata') return;
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
  for (const [name, member] of Object.entries((schema['properties'] ?? {}) as Schema)) {
    const inner = path === '' ? name : `${path}.${name}`;
    collect(member as Schema, inner, facts);
    // The API server checks metadata, so a CRD need not require it.
    if (required.includes(name) && inner !== 'metadata') facts[inner] += ' required';
  }
  if (schema['type'] === 'array') collect(schema['items'] as Schema, `${at}[]`, facts);
  const values = schema['additionalProperties'];
  if (typeof values === 'object' && values !== null && 'type' in values) {
    collect(values, `${at}{}`, facts);
  }
}

/** zod writes `anyOf: [X, null]` or `type: [X, null]`, a CRD `nullable: true`. */
function withoutNull(schema: Schema): Schema {
  const types = schema['type'];
  if (Array.isArray(types)) return { ...schema, type: types.find((type) => type !== 'null') };
  const options = schema['anyOf'];
  if (!Array.isArray(options)) return schema;
  const rest = (options as Schema[]).filter((option) => option['type'] !== 'null');
  return rest.length === 1 && rest.length < options.length ? { ...(rest[0] as Schema) } : schema;
}

function typesOfAlternatives(schema: Schema): string | undefined {
  const options = schema['anyOf'];
  if (!Array.isArray(options)) return undefined;
  return (options as Schema[]).map((option) => String(option['type'])).join('|');
}

function constraintsOf(schema: Schema): string[] {
  const alternatives = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as Schema[]) : [];
  const found = ['minimum', 'maximum', 'minLength', 'maxLength', 'maxItems', 'pattern', 'enum']
    .map((key) => {
      const value = [schema, ...alternatives].map((part) => part[key]).find((v) => v !== undefined);
      return { key, value };
    })
    .filter(({ value }) => value !== undefined && !isIntegerLimit(value));
  return found.map(({ key, value }) => `${key}=${JSON.stringify(value)}`);
}

/** zod writes the limits of int32 and of safe integers as bounds, a CRD as a format. */
function isIntegerLimit(value: unknown): boolean {
  return (
    typeof value === 'number' &&
    [Number.MAX_SAFE_INTEGER, 2 ** 31 - 1, 2 ** 31].includes(Math.abs(value))
  );
}
