import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { RenderController, type RenderDeps } from '../../../controllers/render/render-controller';
import type { MachineConfigPool } from '../../../core/pool/types';

/** It selects everything, so that a render ends with a word about that and writes nothing. */
const POOL: MachineConfigPool = {
  metadata: { name: 'worker', resourceVersion: '7' },
  spec: { machineConfigSelector: {}, configuration: { name: 'rendered-worker-2' } },
};

/** A pool on a config that the watch of MachineConfigs does not show, whatever the reason. */
function controllerWith(reached: readonly boolean[]) {
  const left = [...reached];
  const asked: number[] = [];
  const ended = new AbortController();
  const rendered = jest.fn();
  const seen = new Promise<void>((resolve) => {
    rendered.mockImplementation(() => {
      resolve();
    });
  });
  const none = { subscribe: () => () => undefined, get: () => undefined, list: () => [] };
  const picture = {
    ...{ nodes: none, machineConfigNodes: none, policies: none, controllerConfigs: none },
    pools: { ...none, get: () => POOL, list: () => [POOL] },
    machineConfigs: {
      ...none,
      reached: (version: number) => {
        asked.push(version);
        return Promise.resolve(left.shift() ?? true);
      },
    },
  } as unknown as ClusterPicture;
  let said: (reason: string) => void = () => undefined;
  const firstWord = new Promise<string>((resolve) => (said = resolve));
  const say = ({ reason = '' }: { readonly reason?: string }): void => said(reason);
  const deps = {
    picture,
    writer: {},
    events: { record: rendered },
    metrics: { rendered: () => undefined },
    log: { debug: say, warn: say, info: say, error: say },
    now: () => '2030-01-01T00:00:00Z',
    version: '0.0.0',
  } as unknown as RenderDeps;
  new RenderController(deps, ended.signal);
  return { asked, rendered, seen, firstWord, end: () => ended.abort() };
}

it('renders a pool whose config was deleted: the watch shows all that the pool is as new as', async () => {
  const { asked, seen, end } = controllerWith([true]);
  await seen;
  end();
  expect(asked).toEqual([7]);
});

it('renders nothing from MachineConfigs that are older than the config of the pool, and tries again', async () => {
  const { asked, rendered, seen, firstWord, end } = controllerWith([false, true]);
  expect(await firstWord).toContain(
    'the watch of machineconfigs is behind: pool worker is on rendered-worker-2',
  );
  expect(rendered).not.toHaveBeenCalled();
  await seen;
  end();
  expect(asked).toEqual([7, 7]);
});
