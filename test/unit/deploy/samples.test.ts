import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readManifestFiles, readManifestObjects } from '../../../adapters/manifests';
import { renderManifests } from '../../../controllers/offline';
import { PLACEHOLDER } from '../../../core/machine-config/admission-placeholders';
import { EXAMPLES, filledExample, SAMPLES, writeFilledExamples } from './filled-examples';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-samples-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function refusedIn(path: string): Promise<readonly string[]> {
  const { files, problems: unreadable } = await readManifestFiles(path);
  const { objects, problems } = readManifestObjects(files);
  const { findings } = renderManifests({
    objects,
    unreadable: [...unreadable, ...problems],
    earlier: new Map(),
    version: '1.0.0',
    rest: 'none',
  });
  return findings
    .filter(({ severity }) => severity === 'error')
    .map(({ field = 'the object' }) => field);
}

function at(manifest: unknown, field: string): unknown {
  const steps = field.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.reduce((value, step) => (value as Record<string, unknown>)[step], manifest);
}

describe('a sample', () => {
  const samples = readdirSync(SAMPLES).map(
    (name) => parse(readFileSync(join(SAMPLES, name), 'utf8')) as Manifest,
  );
  const ofKind = (kind: string) => samples.filter((one) => one.kind === kind);

  it('is a pool, its policy, or a base that asks for nothing of a machine', () => {
    const kinds = ['MachineConfig', 'MachineConfigPool', 'RolloutPolicy'];
    expect([...new Set(samples.map(({ kind }) => kind))].sort()).toEqual(kinds);
    for (const { spec } of ofKind('MachineConfig'))
      expect(spec).toEqual({ config: { ignition: { version: '3.5.0' } } });
  });

  it('rolls nothing before a person starts it', () => {
    const waits = ofKind('RolloutPolicy').filter(({ spec }) => spec['trigger'] === 'Manual');
    const names = (manifests: readonly Manifest[]) =>
      manifests.map(({ metadata }) => metadata.name);

    expect(names(waits).sort()).toEqual(names(ofKind('MachineConfigPool')).sort());
  });

  it('renders without changes', async () => {
    expect(await refusedIn(SAMPLES)).toEqual([]);
  });
});

describe.each(readdirSync(EXAMPLES))('the example %s', (name) => {
  const text = readFileSync(join(EXAMPLES, name), 'utf8');

  it('says what to replace before anything else', () => {
    const comment = /^(#.*\n)+/.exec(text)?.[0] ?? '';
    expect(comment).toContain(`Replace ${PLACEHOLDER}`);
  });

  it('is refused while the placeholder is in it, by the field that has it', async () => {
    writeFilledExamples(directory);
    writeFileSync(join(directory, name), text);

    const refused = await refusedIn(directory);

    expect(refused).not.toEqual([]);
    for (const field of refused) expect(at(parse(text), field)).toContain(PLACEHOLDER);
  });

  it('is refused alone, too', async () => {
    writeFileSync(join(directory, name), text);
    expect(await refusedIn(directory)).not.toEqual([]);
  });

  it('renders once it is filled in', async () => {
    writeFilledExamples(directory);

    expect(filledExample(name)).not.toMatch(new RegExp(`^[^#].*${PLACEHOLDER}`, 'm'));
    expect(await refusedIn(directory)).toEqual([]);
  });
});
