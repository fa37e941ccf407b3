import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { RenderController, type RenderDeps } from '../../../controllers/render/render-controller';
import { fail } from '../../../core/errors';
import type { MachineConfig } from '../../../core/machine-config';
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
    controllerConfigs: none,
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

/** Renders one MachineConfig. @param create - what becomes of the rendered config */
function rendering(
  spec: Partial<MachineConfig['spec']>,
  create: (name: string) => Promise<unknown> = () => Promise.resolve({}),
) {
  const ended = new AbortController();
  const config: MachineConfig = {
    metadata: { name: '50-a', labels: { role: 'worker' } },
    spec: { config: { ignition: { version: '3.5.0' } }, ...spec },
  };
  const pool = {
    metadata: { name: 'worker' },
    spec: { machineConfigSelector: { matchLabels: { role: 'worker' } } },
  };
  const none = new Objects<never>();
  const picture = {
    ...{ nodes: none, machineConfigNodes: none, policies: none, controllerConfigs: none },
    machineConfigs: new Objects([config]),
    pools: new Objects([pool]),
  } as unknown as ClusterPicture;
  const conditions: unknown[] = [];
  const events: string[] = [];
  const writer = {
    create: (_resource: unknown, { metadata }: MachineConfig) => create(metadata.name),
    apply: (_resource: unknown, object: { status?: { conditions: unknown } }) => {
      if (object.status !== undefined) conditions.push(object.status.conditions);
      return Promise.resolve({});
    },
  };
  const quiet = (): void => undefined;
  const record = (_subject: unknown, _type: string, reason: string): void => {
    events.push(reason);
  };
  const deps = {
    ...{ picture, writer, version: '0.0.0', readConfig: quiet, events: { record, over: quiet } },
    metrics: { rendered: quiet, osImageOverridden: quiet },
    settled: () => Promise.resolve(),
    log: { debug: quiet, info: quiet, error: quiet, warn: quiet },
    now: () => '2030-01-01T00:00:00Z',
  } as unknown as RenderDeps;
  new RenderController(deps, ended.signal);
  return { conditions, events, end: () => ended.abort() };
}

it('tries again what the API server has refused, for a policy that is fixed meanwhile', async () => {
  jest.useFakeTimers();
  const created: string[] = [];
  let isRefusing = true;
  const { conditions, end } = rendering({}, (name) => {
    if (isRefusing) return Promise.reject(fail('ApiRefused', 'denied by a policy'));
    created.push(name);
    return Promise.resolve({});
  });

  await jest.advanceTimersByTimeAsync(30_000);
  expect(conditions).toEqual([[expect.objectContaining({ reason: 'ApiRefused', status: 'True' })]]);
  isRefusing = false;
  await jest.advanceTimersByTimeAsync(60_000);
  end();

  expect(created).toEqual([expect.stringMatching(/^rendered-worker-/)]);
});

it.each([
  [
    'tells of an OS image that a MachineConfig sets',
    `registry.example.net/os@sha256:${'1'.repeat(64)}`,
    true,
  ],
  ['tells of none that no MachineConfig sets', undefined, false],
])('%s', async (_what, osImageURL, isTold) => {
  jest.useFakeTimers();
  const { events, end } = rendering(osImageURL === undefined ? {} : { osImageURL });
  await jest.advanceTimersByTimeAsync(30_000);
  end();

  expect(events).toContain('RenderedConfigGenerated');
  expect(events.includes('OSImageURLOverridden')).toBe(isTold);
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
