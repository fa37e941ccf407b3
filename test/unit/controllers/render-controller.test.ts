import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { RenderController, type RenderDeps } from '../../../controllers/render/render-controller';
import { renderPool } from '../../../controllers/render/render-pool';
import { fail } from '../../../core/errors';
import type { MachineConfig } from '../../../core/machine-config';
import { ANNOTATION } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';
import { Objects } from './listed-objects';

afterEach(() => {
  jest.useRealTimers();
});

/** It selects everything, so that a render ends with an error and writes nothing. */
const POOL: MachineConfigPool = {
  metadata: { name: 'worker', resourceVersion: '7' },
  spec: { machineConfigSelector: {}, configuration: { name: 'rendered-worker-2' } },
};

/**
 * A pool on a config that the watch of MachineConfigs does not show. @param isThere - the server's answers, in
 * turn
 */
function controllerWith(isThere: readonly boolean[]) {
  const left = [...isThere];
  const asked: string[] = [];
  const ended = new AbortController();
  const rendered = jest.fn();
  const seen = new Promise<void>((resolve) => {
    rendered.mockImplementation(() => {
      resolve();
    });
  });
  const none = { subscribe: () => () => undefined, get: () => undefined, list: () => [] };
  const picture = {
    ...{ nodes: none, machineConfigs: none, machineConfigNodes: none, policies: none },
    ...{ controllerConfigs: none, osImageStreams: none },
    pools: { ...none, get: () => POOL, list: () => [POOL] },
  } as unknown as ClusterPicture;
  const readConfig = (name: string): Promise<MachineConfig> => {
    asked.push(name);
    return left.shift() === true
      ? Promise.resolve({ metadata: { name }, spec: {} })
      : Promise.reject(fail('ObjectNotFound', `machineconfig ${name} does not exist`));
  };
  let said: (text: string) => void = () => undefined;
  const firstWord = new Promise<string>((resolve) => (said = resolve));
  const quiet = (): void => undefined;
  const deps = {
    ...{ picture, readConfig, writer: {}, version: '0.0.0' },
    events: { record: rendered },
    metrics: { rendered: quiet },
    settled: () => Promise.resolve(),
    log: { debug: quiet, info: quiet, error: quiet, warn: (_: object, text: string) => said(text) },
    now: () => '2030-01-01T00:00:00Z',
  } as unknown as RenderDeps;
  new RenderController(deps, ended.signal);
  return { asked, rendered, seen, firstWord, end: () => ended.abort() };
}

it('tries again what the API server has refused, for a policy that is fixed meanwhile', async () => {
  jest.useFakeTimers();
  const ended = new AbortController();
  const config: MachineConfig = {
    metadata: { name: '50-a', labels: { role: 'worker' } },
    spec: { config: { ignition: { version: '3.5.0' } } },
  };
  const pool = {
    metadata: { name: 'worker' },
    spec: { machineConfigSelector: { matchLabels: { role: 'worker' } } },
  };
  const none = new Objects<never>();
  const picture = {
    ...{ nodes: none, machineConfigNodes: none, policies: none, controllerConfigs: none },
    osImageStreams: none,
    machineConfigs: new Objects([config]),
    pools: new Objects([pool]),
  } as unknown as ClusterPicture;
  const created: string[] = [];
  const conditions: unknown[] = [];
  let isRefusing = true;
  const writer = {
    create: (_resource: unknown, { metadata }: MachineConfig) => {
      if (isRefusing) return Promise.reject(fail('ApiRefused', 'denied by a policy'));
      created.push(metadata.name);
      return Promise.resolve({});
    },
    apply: (_resource: unknown, object: { status?: { conditions: unknown } }) => {
      if (object.status !== undefined) conditions.push(object.status.conditions);
      return Promise.resolve({});
    },
  };
  const quiet = (): void => undefined;
  const deps = {
    ...{ picture, writer, version: '0.0.0', readConfig: quiet, events: { record: quiet } },
    metrics: { rendered: quiet, osImageOverridden: quiet },
    settled: () => Promise.resolve(),
    log: { debug: quiet, info: quiet, error: quiet, warn: quiet },
    now: () => '2030-01-01T00:00:00Z',
  } as unknown as RenderDeps;
  new RenderController(deps, ended.signal);

  await jest.advanceTimersByTimeAsync(30_000);
  expect(conditions).toEqual([[expect.objectContaining({ reason: 'ApiRefused', status: 'True' })]]);
  isRefusing = false;
  await jest.advanceTimersByTimeAsync(60_000);
  ended.abort();

  expect(created).toEqual([expect.stringMatching(/^rendered-worker-/)]);
});

it('renders a pool whose config was deleted', async () => {
  const { asked, seen, end } = controllerWith([false]);
  await seen;
  end();
  expect(asked).toEqual(['rendered-worker-2']);
});

it('renders nothing from MachineConfigs that are older than the config of the pool, and tries again', async () => {
  const { asked, rendered, seen, firstWord, end } = controllerWith([true, false]);
  expect(await firstWord).toBe('not rendered yet: the watch of machineconfigs is behind');
  expect(rendered).not.toHaveBeenCalled();
  await seen;
  end();
  expect(asked).toEqual(['rendered-worker-2', 'rendered-worker-2']);
});

const OF_CLUSTER = `registry.example.com/os@sha256:${'1'.repeat(64)}`;
const OF_PERSON = `registry.example.com/os@sha256:${'2'.repeat(64)}`;

interface Told {
  readonly conditions: readonly { readonly type: string; readonly message: string }[];
  readonly events: readonly unknown[];
  readonly patched: readonly unknown[];
}

/**
 * A pool with an image of a person, rendered once. @param shown - its conditions @param annotated - the rendered config
 * exists, and says whether it overrides
 */
async function renderedWith(
  image: string,
  shown: readonly object[] = [],
  annotated?: boolean,
): Promise<Told> {
  jest.useFakeTimers();
  const ended = new AbortController();
  const labels = { role: 'worker' };
  const config = { metadata: { name: '50-os', labels }, spec: { osImageURL: image } };
  const pool = {
    metadata: { name: 'worker' },
    spec: { machineConfigSelector: { matchLabels: labels } },
    status: { conditions: shown },
  };
  const controllerConfig = {
    metadata: { name: 'machine-config-controller' },
    spec: { baseOSContainerImage: OF_CLUSTER },
  };
  const none = new Objects<never>();
  const picture = {
    ...{ nodes: none, machineConfigNodes: none, policies: none, osImageStreams: none },
    controllerConfigs: new Objects([controllerConfig]),
    machineConfigs: new Objects<MachineConfig>([config]),
    pools: new Objects([pool]),
  } as unknown as ClusterPicture;
  if (annotated !== undefined) {
    const { rendered } =
      renderPool({ ...picture, workerStream: '' }, pool as MachineConfigPool, '0.0.0') ?? {};
    if (rendered === undefined) throw new Error('the pool selects everything');
    const annotations = annotated ? { [ANNOTATION.OS_IMAGE_URL_OVERRIDDEN]: 'true' } : {};
    const metadata = { name: rendered.name, annotations };
    (picture.machineConfigs as Objects<MachineConfig>).put({ metadata, spec: rendered.spec });
  }
  let conditions: Told['conditions'] = [];
  const events: unknown[] = [];
  const patched: unknown[] = [];
  const writer = {
    create: () => Promise.resolve({}),
    patch: (_resource: unknown, _key: unknown, patch: unknown) => {
      patched.push(patch);
      return Promise.resolve({});
    },
    apply: (_resource: unknown, object: { status?: { conditions: Told['conditions'] } }) => {
      conditions = object.status?.conditions ?? conditions;
      return Promise.resolve({});
    },
  };
  const quiet = (): void => undefined;
  const deps = {
    ...{ picture, writer, version: '0.0.0', readConfig: quiet },
    events: {
      record: (_object: unknown, _type: string, reason: string, message: string) => {
        if (reason === 'OSImageURLOverridden') events.push(message);
      },
    },
    metrics: { rendered: quiet, osImageOverridden: quiet },
    settled: () => Promise.resolve(),
    log: { debug: quiet, info: quiet, error: quiet, warn: quiet },
    now: () => '2030-01-01T00:00:00Z',
  } as unknown as RenderDeps;
  new RenderController(deps, ended.signal);
  await jest.advanceTimersByTimeAsync(30_000);
  ended.abort();
  return { conditions, events, patched };
}

const OVERRIDDEN = {
  ...{ type: 'OSImageOverridden', status: 'True', reason: 'SetByMachineConfig' },
  message:
    `MachineConfig 50-os sets spec.osImageURL to ${OF_PERSON}, in place of ${OF_CLUSTER} of the cluster; ` +
    'remove the field to have that of the cluster',
  lastTransitionTime: '2029-01-01T00:00:00Z',
};
const RENDERED = { type: 'RenderDegraded', status: 'False', reason: '', message: '' };

it('shows on a pool which MachineConfig wins over the OS image of the cluster, and says it once', async () => {
  const first = await renderedWith(OF_PERSON);
  expect(first.conditions).toEqual([
    expect.objectContaining(RENDERED),
    expect.objectContaining({ type: OVERRIDDEN.type, message: OVERRIDDEN.message }),
  ]);
  expect(first.events).toEqual([OVERRIDDEN.message]);

  const second = await renderedWith(OF_PERSON, [OVERRIDDEN]);
  expect(second.conditions).toEqual([OVERRIDDEN, expect.objectContaining(RENDERED)]);
  expect(second.events).toEqual([]);
});

it('shows no override any more once the pool has the image of the cluster', async () => {
  const { conditions, events } = await renderedWith(OF_CLUSTER, [OVERRIDDEN]);
  expect(conditions).toEqual([expect.objectContaining(RENDERED)]);
  expect(events).toEqual([]);
});

it.each([
  ['has come to override', OF_PERSON, false, 'true'],
  ['no longer overrides', OF_CLUSTER, true, null],
])('corrects the annotation of a config that %s', async (_what, image, before, after) => {
  const { patched } = await renderedWith(image, [], before);
  expect(patched).toEqual([
    { metadata: { annotations: { [ANNOTATION.OS_IMAGE_URL_OVERRIDDEN]: after } } },
  ]);
  expect((await renderedWith(image, [], !before)).patched).toEqual([]);
});
