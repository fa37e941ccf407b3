import type { KubeObject } from '../../../adapters/kube/resources';
import type { WatchSource } from '../../../adapters/kube/watch';
import { CONTROLLER_CONFIG } from '../../../core/controller-config';
import { fail } from '../../../core/errors';
import { followBundles } from '../../../server/bundles/source';

const PULL_SECRET = '/var/lib/kubelet/config.json';

interface Asked {
  readonly name: string;
  readonly answer: (items: readonly object[]) => void;
  readonly refuse: (error: Error) => void;
}

function aSecret(name: string, auth: string) {
  const config = JSON.stringify({ auths: { a: { auth } } });
  return {
    metadata: { name, namespace: 'ns', resourceVersion: '1' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
  };
}

function naming(name: string): KubeObject {
  return {
    metadata: { name: CONTROLLER_CONFIG },
    spec: { pullSecret: { namespace: 'ns', name } },
  } as KubeObject;
}

let stop: AbortController;
let running: Promise<void>;
let asked: Asked[];
let lines: string[];
let listeners: Set<() => void>;
let config: KubeObject | undefined;
let changes: number;

beforeEach(() => {
  stop = new AbortController();
  [asked, lines, listeners, config, changes] = [[], [], new Set(), undefined, 0];
});

afterEach(async () => {
  stop.abort();
  await running;
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

function start() {
  const source: WatchSource = {
    list: (_resource, { fieldSelector = '' } = {}) =>
      new Promise((resolve, reject) => {
        asked.push({
          name: fieldSelector.replace('metadata.name=', ''),
          answer: (items) => resolve({ items: items as never, resourceVersion: '1' }),
          refuse: reject,
        });
        stop.signal.addEventListener('abort', () => reject(new Error('stopped')));
      }),
    watch: (_resource, { signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          return { done: true, value: undefined };
        },
      }),
    }),
  };
  const says = (fields: object, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const bundles = followBundles(
    {
      get: () => config,
      isSynced: true,
      synced: Promise.resolve(),
      subscribe: (listener) => {
        const told = () => listener({ type: 'added', object: naming('any') });
        listeners.add(told);
        return () => void listeners.delete(told);
      },
    },
    { debug: () => undefined, info: says, warn: says, error: says },
  );
  bundles.onChange(() => {
    changes += 1;
  });
  running = bundles.run(source, stop.signal);
  return bundles;
}

function configure(next: KubeObject): void {
  config = next;
  for (const listener of listeners) listener();
}

const secretIn = (bundles: ReturnType<typeof start>) => {
  const file = bundles.bundleOf('worker')?.files.find(({ path }) => path === PULL_SECRET);
  return file && Buffer.from(file.content, 'base64').toString();
};

it('gives nothing before the pull Secret has been read, and says what it waits for', async () => {
  config = naming('first');
  const bundles = start();
  await turn();

  expect(bundles.bundleOf('worker')).toBeUndefined();
  expect(bundles.contents()).toBeUndefined();
  expect(bundles.missing()).toEqual(['secret ns/first']);
  expect(changes).toBe(0);
  expect(lines).toEqual([expect.stringMatching(/wait.*"secret ns\/first"/)]);

  asked[0]?.answer([aSecret('first', 'b25l')]);
  await turn();
  expect(secretIn(bundles)).toContain('b25l');
  expect(bundles.missing()).toEqual([]);
  expect(changes).toBe(1);
});

it.each<[string, (list: Asked | undefined) => void, RegExp]>([
  [
    'it has no right to read',
    (list) => list?.refuse(fail('ApiForbidden', 'secrets is forbidden', { code: 403 })),
    /the server has no right to/,
  ],
  ['does not exist', (list) => list?.answer([]), /which does not exist/],
])('gives the rest when the Secret is one that %s', async (_what, answer, says) => {
  config = naming('first');
  const bundles = start();
  await turn();
  answer(asked[0]);
  await turn();

  expect(bundles.bundleOf('worker')?.keeps).toEqual([PULL_SECRET]);
  expect(bundles.contents()?.problems.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(says),
  ]);
  expect(bundles.missing()).toEqual([]);
});

it('gives the earlier Secret until another one has been read', async () => {
  config = naming('first');
  const bundles = start();
  await turn();
  asked[0]?.answer([aSecret('first', 'b25l')]);
  await turn();
  configure(naming('second'));
  await turn();

  expect(secretIn(bundles)).toContain('b25l');
  expect(asked.map(({ name }) => name)).toEqual(['first', 'second']);
  asked[1]?.answer([aSecret('second', 'dHdv')]);
  await turn();
  expect(secretIn(bundles)).toContain('dHdv');
  expect(changes).toBe(2);
});

it('waits for nothing when no Secret is named', async () => {
  config = { metadata: { name: CONTROLLER_CONFIG } };
  const bundles = start();
  await turn();

  expect(bundles.bundleOf('worker')).toMatchObject({ pool: 'worker', files: [] });
  expect(bundles.missing()).toEqual([]);
});
