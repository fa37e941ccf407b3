import {
  DEPLOYMENTS,
  LEASES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NAMESPACES,
  type KubeObject,
} from '../../../adapters/kube/resources';
import type { MachineConfigPool } from '../../../core/pool/types';
import { takeApiServer, type TestApiServer } from '../crds/api-server';
import {
  aConfig,
  aFile,
  aPool,
  condition,
  metric,
  Observer,
  startControllers,
  type RunningControllers,
} from './fixture';

jest.setTimeout(120_000);

let api: TestApiServer;
let observer: Observer;
const running: RunningControllers[] = [];

/** Short, so that a handover takes seconds. */
const TERMS = { leaseSeconds: 3, renewDeadlineSeconds: 2, leaseRetrySeconds: 0.3 };

/** Longer than a busy disk delays the API server, so that the leader leads until it is stopped. */
const LONG_TERMS = { leaseSeconds: 60, renewDeadlineSeconds: 50 };

beforeAll(async () => {
  api = await takeApiServer();
  observer = new Observer(api.client);
  await observer.ready();
}, 300_000);

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
});

afterAll(async () => {
  observer.stop();
  await api.stop();
});

async function start(flags: Readonly<Record<string, unknown>> = {}): Promise<RunningControllers> {
  const controllers = await startControllers(api.kubeconfig, { flags: { ...TERMS, ...flags } });
  running.push(controllers);
  return controllers;
}

async function leaderOf(): Promise<string> {
  const lease = await api.client.get(LEASES, { namespace: 'slipway', name: 'slipway-controllers' });
  return lease.spec?.holderIdentity ?? '';
}

let changes = 0;
async function changeAndAwait(pool: string): Promise<string> {
  changes += 1;
  const before = observer.pools.get(pool)?.spec.configuration?.name;
  const name = `50-change-${changes}`;
  await api.client.create(MACHINE_CONFIGS, aConfig(name, pool, [aFile(`/etc/${name}`, name)]));
  const after = await observer.pool(
    pool,
    ({ spec: { configuration } }) =>
      configuration?.name !== before &&
      configuration?.source?.some((source) => source.name === name) === true,
  );
  return after.spec.configuration?.name ?? '';
}

const isLeader = (controllers: RunningControllers): Promise<number> =>
  metric(controllers.metrics, 'slipway_controllers_leader', {});

async function untilLeads(controllers: RunningControllers): Promise<void> {
  // Every renewal changes the Lease, so this waits for the election.
  while ((await isLeader(controllers)) !== 1) await leaderOf();
}

describe('two controllers at once', () => {
  it('do no harm: one writes, the other takes over', async () => {
    const a = await start({ identity: 'a', ...LONG_TERMS });
    const b = await start({ identity: 'b', ...LONG_TERMS });
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('shared'));
    await changeAndAwait('shared');
    const first = await leaderOf();
    const [leader, standby] = first === 'a' ? [a, b] : [b, a];
    expect([await isLeader(leader), await isLeader(standby)]).toEqual([1, 0]);
    const count = { pool: 'shared', outcome: 'created' };
    expect(await metric(standby.metrics, 'slipway_controllers_renders_total', count)).toBe(0);

    await leader.stop();
    await changeAndAwait('shared');

    expect(await leaderOf()).toBe(first === 'a' ? 'b' : 'a');
    // Counted when the write was answered; the watch may show it before.
    const renders = () => metric(standby.metrics, 'slipway_controllers_renders_total', count);
    while ((await renders()) === 0) await leaderOf();
    expect(await renders()).toBe(1);
    expect(observer.renderedFor('shared').length).toBe(2);
  });

  it('even when they do not know of each other', async () => {
    await start({ identity: 'a', leaseName: 'one' });
    await start({ identity: 'b', leaseName: 'other' });
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('contested'));

    const config = await changeAndAwait('contested');
    await observer.pool('contested', (pool) => condition(pool, 'Updated')?.status === 'True');

    const pool = await api.client.get(MACHINE_CONFIG_POOLS, { name: 'contested' });
    expect(pool.spec.configuration?.name).toBe(config);
    expect(observer.renderedFor('contested')).toHaveLength(1);
  });
});

describe('a leader that loses its lease', () => {
  it('stops every write at once, and leads again when it can', async () => {
    const controllers = await start({ identity: 'mine' });
    await untilLeads(controllers);
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('fenced'));
    await changeAndAwait('fenced');

    const leases = observer.record(observer.leases);
    const pools = observer.record(observer.pools);
    const key = { namespace: 'slipway', name: 'slipway-controllers' };
    await api.client.patch(LEASES, key, { spec: { holderIdentity: 'thief' } });
    while ((await isLeader(controllers)) === 1) await leaderOf();
    const config = aConfig('90-late', 'fenced', [aFile('/etc/l', 'l')]);
    const late = await api.client.create(MACHINE_CONFIGS, config);

    await untilLeads(controllers);
    const isRendered = ({ spec }: MachineConfigPool) =>
      Boolean(spec.configuration?.source?.some(({ name }) => name === '90-late'));
    await observer.pool('fenced', isRendered);
    expect(controllers.lines.some((line) => line.includes('lost the lease'))).toBe(true);
    // Versions count up over all objects: nothing was written before the Lease was back.
    const backAgain = () => {
      const stolen = leases.findIndex(({ object }) => object.spec?.holderIdentity === 'thief');
      if (stolen < 0) return undefined;
      return leases.slice(stolen).find(({ object }) => object.spec?.holderIdentity === 'mine');
    };
    // Each kind has its own watch, and this one may be behind that of the pools.
    await observer.until(observer.leases, () => backAgain() !== undefined);
    const back = backAgain();
    const rendered = pools.find(({ object }) => isRendered(object));
    expect(versionOf(rendered?.object)).toBeGreaterThan(versionOf(back?.object));
    const writtenWithout = pools.filter(
      ({ object }) =>
        object.metadata.name === 'fenced' &&
        versionOf(object) > versionOf(late) &&
        versionOf(object) < versionOf(back?.object),
    );
    expect(writtenWithout.map(({ object }) => object.metadata.resourceVersion)).toEqual([]);
  });
});

function versionOf(object: KubeObject | undefined): number {
  return Number(object?.metadata.resourceVersion);
}

describe('an API server that goes away', () => {
  it('is waited for at start and in the middle, said once each, and work goes on', async () => {
    await api.kill();
    const controllers = await start();
    await api.start();
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('durable'));
    await changeAndAwait('durable');

    await api.kill();
    await api.start();
    await changeAndAwait('durable');

    const away = 'Kubernetes API does not answer; waiting for it';
    const warnings = controllers.lines
      .map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string })
      .filter(({ level, msg }) => level >= 40 && !/^(lost the lease|pool cannot)/.test(msg))
      .map(({ msg, reason }) => (msg === away ? msg : `${msg}: ${String(reason)}`));
    // The second outage may be over before the next request.
    expect([[away], [away, away]]).toContainEqual(warnings);
  });
});

describe('rendered configs', () => {
  it('that are deleted or changed by hand come back', async () => {
    await start();
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('stubborn'));
    const name = await changeAndAwait('stubborn');
    const original = await api.client.get(MACHINE_CONFIGS, { name });

    await api.client.delete(MACHINE_CONFIGS, { name });
    await observer.until(observer.configs, () => {
      const again = observer.configs.get(name);
      return again !== undefined && again.metadata.uid !== original.metadata.uid;
    });
    await api.client.patch(MACHINE_CONFIGS, { name }, { spec: { kernelArguments: ['evil'] } });
    await observer.until(
      observer.configs,
      () => (observer.configs.get(name)?.metadata.generation ?? 0) === 3,
    );

    expect(observer.configs.get(name)?.spec).toEqual(original.spec);
  });

  it('are deleted when nobody uses them, except the newest', async () => {
    await start({ keepRendered: 2 });
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('tidy'));
    const made: string[] = [];
    for (let index = 0; index < 3; index++) made.push(await changeAndAwait('tidy'));
    const prefix = 'machineconfiguration.openshift.io';
    await api.client.create(
      { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false },
      {
        metadata: { name: 'old-one', annotations: { [`${prefix}/currentConfig`]: made[0] ?? '' } },
      },
    );
    for (let index = 0; index < 4; index++) made.push(await changeAndAwait('tidy'));

    const kept = (): string[] => observer.renderedFor('tidy').map(({ metadata }) => metadata.name);
    // The pool may name the newest config before this watch shows it.
    await observer.until(
      observer.configs,
      () => kept().length === 4 && kept().includes(made.at(-1) ?? ''),
    );

    expect(kept()).toContain(made[0]);
    expect(kept()).toContain(made.at(-1));
    const unused = kept().filter((name) => name !== made[0] && name !== made.at(-1));
    expect(unused).toHaveLength(2);
  });
});

describe('health', () => {
  it('tells liveness, readiness and metrics', async () => {
    const controllers = await start();
    await untilLeads(controllers);
    const get = async (path: string): Promise<{ status: number; text: string }> => {
      const reply = await fetch(`${controllers.url}${path}`);
      return { status: reply.status, text: await reply.text() };
    };

    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(200);
    expect((await get('/metrics')).text).toContain('mco_machine_count');
    expect((await get('/other')).status).toBe(404);
  });
});

describe('a cluster with MCO', () => {
  it('is refused with a sentence', async () => {
    const namespace = 'openshift-machine-config-operator';
    const name = 'machine-config-operator';
    await api.client.create(NAMESPACES, { metadata: { name: namespace } });
    const labels = { app: name };
    const deployment = {
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name, image: 'example.com/mco' }] },
        },
      },
    } as KubeObject;
    await api.client.create(DEPLOYMENTS, deployment);

    const controllers = await startControllers(api.kubeconfig, { flags: TERMS });
    await expect(controllers.ended).rejects.toMatchObject({
      name: 'McoPresent',
      message: expect.stringContaining(`${namespace}/${name}`) as string,
    });
  });
});
