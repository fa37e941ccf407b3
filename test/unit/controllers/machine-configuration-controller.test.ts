import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { Writer } from '../../../controllers/fenced-writer';
import { MachineConfigurationController } from '../../../controllers/machine-configuration';
import { DEFAULT_DISRUPTION_POLICIES, type MachineConfiguration } from '../../../core/disruption';
import { fail } from '../../../core/errors';
import { Objects } from './listed-objects';

const NOW = '2030-01-01T00:00:00Z';

let leading: AbortController;

beforeEach(() => {
  jest.useFakeTimers();
  leading = new AbortController();
});

afterEach(() => {
  leading.abort();
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

function anObject(path: string, generation: number, status: unknown = {}): MachineConfiguration {
  return {
    metadata: { name: 'cluster', uid: 'u', generation },
    spec: { nodeDisruptionPolicy: { files: [{ path, actions: [{ type: 'None' }] }] } },
    status,
  };
}

interface Fixture {
  readonly objects: Objects<MachineConfiguration>;
  readonly written: { readonly metadata: object; readonly status?: object }[];
  readonly lines: string[];
  /** The next write fails. */
  broken: boolean;
  readonly created: object[];
  /** Why none can be made. */
  refusal: Error | undefined;
}

/** Stores what is written, as the API server does. */
function aFixture(...stored: readonly MachineConfiguration[]): Fixture {
  const lines: string[] = [];
  const say = (fields: object, text?: string): void => {
    lines.push(`${text ?? ''} ${JSON.stringify(fields)}`);
  };
  const fixture: Fixture = {
    ...{ objects: new Objects(stored), written: [], lines, broken: false },
    ...{ created: [], refusal: undefined },
  };
  const apply: Writer['apply'] = async <T extends KubeObject>(
    _resource: Resource<T>,
    applied: { readonly metadata: object; readonly status?: object },
  ) => {
    if (fixture.broken) {
      fixture.broken = false;
      throw fail('ApiRefused', 'refused once');
    }
    fixture.written.push(applied);
    const before = fixture.objects.get('cluster');
    const after = { ...before, status: applied.status } as MachineConfiguration;
    fixture.objects.put(after);
    return after as unknown as T;
  };
  const create: Writer['create'] = async <T extends KubeObject>(
    _resource: Resource<T>,
    object: T,
  ) => {
    fixture.created.push(object);
    if (fixture.refusal !== undefined) throw fixture.refusal;
    const metadata = { ...object.metadata, uid: 'new', generation: 1 };
    fixture.objects.put({ ...object, metadata });
    return object;
  };
  void new MachineConfigurationController(
    {
      picture: { machineConfigurations: fixture.objects },
      writer: { apply, create },
      log: { debug: say, info: say, warn: say, error: say },
      now: () => NOW,
    },
    leading.signal,
  );
  return fixture;
}

it('writes each change once, and nothing when nothing has changed', async () => {
  const { objects, written } = aFixture(anObject('/etc/a', 1));

  await pass(10_000);
  expect(written).toHaveLength(1);
  expect(written[0]).toMatchObject({
    metadata: { name: 'cluster', uid: 'u' },
    status: { observedGeneration: 1, conditions: [{ status: 'False' }] },
  });

  const { status } = objects.get('cluster') as MachineConfiguration;
  objects.put(anObject('/etc/a', 1, status));
  await pass(10_000);
  expect(written).toHaveLength(1);

  objects.put(anObject('/etc/b', 2, status));
  await pass(10_000);
  expect(written).toHaveLength(2);
  expect(JSON.stringify(written[1])).toContain('/etc/b');
});

it('says once what is wrong, also in its log', async () => {
  const { written, lines } = aFixture(anObject('relative', 1));

  await pass(10_000);

  expect(written).toMatchObject([{ status: { conditions: [{ status: 'True' }] } }]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('spec.nodeDisruptionPolicy.files[0].path: path must be absolute');
});

it('tries a failed write again', async () => {
  const fixture = aFixture(anObject('/etc/a', 1));
  fixture.broken = true;

  await pass(10_000);

  expect(fixture.written).toHaveLength(1);
  expect(fixture.lines.join()).toContain('refused once');
});

const MADE = { metadata: { name: 'cluster' }, spec: { managementState: 'Managed' } };

it('makes the object where there is none, with the defaults in its status', async () => {
  const { created, written } = aFixture();

  await pass(10_000);

  expect(created).toEqual([MADE]);
  expect(written).toMatchObject([
    {
      metadata: { name: 'cluster', uid: 'new' },
      status: {
        observedGeneration: 1,
        nodeDisruptionPolicyStatus: { clusterPolicies: DEFAULT_DISRUPTION_POLICIES },
      },
    },
  ]);
});

it.each(['Conflict', 'ObjectNotFound'] as const)('leaves it at that on %s', async (failure) => {
  const fixture = aFixture();
  fixture.refusal = fail(failure, 'exists, or the kind is not known');

  await pass(10_000);

  expect(fixture.created).toEqual([MADE]);
  expect(fixture.lines).toEqual([]);
});

it('writes nothing after its leadership', async () => {
  const fixture = aFixture(anObject('/etc/a', 1));
  await pass(10_000);
  leading.abort();
  fixture.objects.put(anObject('/etc/b', 2));
  await pass(10_000);

  expect(fixture.written).toHaveLength(1);
});
