import { createAwaitReturn } from '../../../../activities/cluster/await-return';
import type { ClusterPorts } from '../../../../activities/cluster/ports';
import { fail } from '../../../../core/errors';
import type { Node } from '../../../../core/node/types';
import type { AwaitReturnProgress } from '../../../../workflows/contracts/cluster';

const START = Date.parse('2026-03-01T10:00:00Z');
const INPUT = {
  ...{ node: 'n', pool: 'worker', config: 'rendered-worker-1', workflowId: 'update-node/n' },
  run: { id: 'run-1', startedAt: '2026-01-01T00:00:00Z' },
  readySeconds: 30,
  timeoutSeconds: 300,
};

beforeEach(() => {
  jest.useFakeTimers({ now: START });
});
afterEach(() => {
  jest.useRealTimers();
});

function aNode(ready: 'True' | 'False', since?: string, resourceVersion = '1'): Node {
  const conditions = [
    { type: 'Ready', status: ready, ...(since === undefined ? {} : { lastTransitionTime: since }) },
  ];
  return { metadata: { name: 'n', resourceVersion }, spec: {}, status: { conditions } };
}

/** An API server and a watch, which may be silent. */
class Scene {
  readonly outcome = jest.fn<undefined, [string]>();
  readonly heartbeats: AwaitReturnProgress[] = [];
  asked = 0;
  #version = 1;
  #shown: Node;
  #isAway = false;
  #isSilent = false;
  #heardAt = performance.now();
  #changed: (event: object) => void = () => undefined;

  /** Waits for the node, ordered at `START`; the test sets the worker's clock. */
  constructor(
    private actual: Node | undefined,
    lastHeartbeat?: unknown,
  ) {
    this.#shown = actual ?? aNode('False');
    const activity = createAwaitReturn(this.#ports(lastHeartbeat));
    activity(INPUT).then(
      () => this.outcome('ready'),
      (error: unknown) => this.outcome((error as Error).name),
    );
  }

  becomes(ready: 'True' | 'False', since?: string): void {
    this.actual = aNode(ready, since, String((this.#version += 1)));
    this.speaks();
  }

  /** The watch shows other nodes only. */
  async lags(seconds: number): Promise<void> {
    const behind = this.#shown;
    for (let half = 0; half < seconds * 2; half += 1) {
      await pass(0.5);
      this.#shown = behind;
      this.reopens();
    }
  }

  speaks(): void {
    if (this.#isSilent) return;
    this.#heardAt = performance.now();
    this.#shown = this.actual ?? this.#shown;
    this.#changed({ object: this.#shown });
  }

  silence(): void {
    this.#isSilent = true;
  }

  goAway(): void {
    this.#isAway = true;
    this.silence();
  }

  comeBack(): void {
    this.#isAway = false;
    this.#isSilent = false;
    this.speaks();
  }

  /** The watch is restarted, and does not show the changes in between yet. */
  reopens(): void {
    this.#isAway = false;
    this.#heardAt = performance.now();
    this.#changed({ object: this.#shown });
  }

  blocker(): string | undefined {
    return this.heartbeats.at(-1)?.blocker;
  }

  #ports(lastHeartbeat: unknown): ClusterPorts {
    const beganAt = performance.now();
    const ignored = (): void => undefined;
    const silentMs = () => performance.now() - this.#heardAt;
    const ports = {
      view: {
        nodes: {
          get: () => this.#shown,
          get silentMs() {
            return silentMs();
          },
          subscribe: (told: (event: object) => void) => {
            this.#changed = told;
            return ignored;
          },
        },
      },
      nodes: { read: () => this.#read() },
      run: () => ({
        signal: new AbortController().signal,
        scheduledAtMs: START,
        temporalNow: () => START + performance.now() - beganAt,
        lastHeartbeat,
        log: { debug: ignored, info: ignored, warn: ignored },
        heartbeat: (told: AwaitReturnProgress) => this.heartbeats.push(told),
      }),
      now: Date.now,
    };
    return ports as unknown as ClusterPorts;
  }

  async #read(): Promise<Node> {
    this.asked += 1;
    if (this.#isAway) throw fail('ApiUnavailable', 'get node n: ECONNREFUSED');
    if (this.actual === undefined) throw fail('ObjectNotFound', 'node n does not exist');
    this.#shown = this.actual;
    return this.actual;
  }
}

const pass = (seconds: number): Promise<void> => jest.advanceTimersByTimeAsync(seconds * 1000);

it('gives a node all its time on a worker whose clock goes hours ahead', async () => {
  const { outcome } = new Scene(aNode('False'));
  await pass(10);
  jest.setSystemTime(START + 7_200_000);

  await pass(280);
  expect(outcome).not.toHaveBeenCalled();
  await pass(20);
  expect(outcome).toHaveBeenCalledWith('NodeNotReady');
});

it.each([7_200_000, -7_200_000])(
  'has watched a node long enough only when the time is over, though the clock steps by %i ms',
  async (stepMs) => {
    const scene = new Scene(aNode('False'));
    scene.becomes('True');
    await pass(5);
    jest.setSystemTime(START + stepMs);

    await pass(20);
    expect(scene.outcome).not.toHaveBeenCalled();
    await pass(10);
    expect(scene.outcome).toHaveBeenCalledWith('ready');
  },
);

describe('while the API server is away', () => {
  it('a node keeps its remaining time, and the status names what the wait is for', async () => {
    const scene = new Scene(aNode('False'));
    await pass(100);
    scene.goAway();

    await pass(3_600);
    expect(scene.outcome).not.toHaveBeenCalled();
    expect(scene.blocker()).toBe(
      'the state of the node from the Kubernetes API server: get node n: ECONNREFUSED',
    );

    scene.comeBack();
    await pass(195);
    expect(scene.outcome).not.toHaveBeenCalled();
    expect(scene.blocker()).toBe('condition Ready is False');
    await pass(10);
    expect(scene.outcome).toHaveBeenCalledWith('NodeNotReady');
  });

  it('a node may become Ready', async () => {
    const scene = new Scene(aNode('False'));
    scene.goAway();
    await pass(3_600);
    scene.becomes('True');
    scene.comeBack();

    await pass(25);
    expect(scene.outcome).not.toHaveBeenCalled();
    await pass(10);
    expect(scene.outcome).toHaveBeenCalledWith('ready');
  });

  it('no node is verified Ready', async () => {
    const scene = new Scene(aNode('True'));
    scene.goAway();
    await pass(3_600);
    expect(scene.outcome).not.toHaveBeenCalled();

    scene.comeBack();
    await pass(25);
    expect(scene.outcome).not.toHaveBeenCalled();
    await pass(5);
    expect(scene.outcome).toHaveBeenCalledWith('ready');
  });

  it('no node is verified by a watch that has yet to show what happened meanwhile', async () => {
    const scene = new Scene(aNode('True'));
    for (let half = 0; half < 57; half += 1) {
      await pass(0.5);
      scene.speaks();
    }
    scene.goAway();
    await pass(600);
    scene.becomes('False');
    scene.reopens();

    await pass(10);
    expect(scene.outcome).not.toHaveBeenCalled();
    expect(scene.blocker()).toBe('condition Ready is False');
  });

  it('no node is verified by a watch that is behind what the API server has answered', async () => {
    const scene = new Scene(aNode('True'));
    await pass(5);
    scene.goAway();
    await pass(600);
    scene.becomes('False');
    scene.reopens();
    await scene.lags(60);

    expect(scene.outcome).not.toHaveBeenCalled();
    expect(scene.blocker()).toBe('condition Ready is False');
    scene.becomes('True');
    await pass(40);
    expect(scene.outcome).toHaveBeenCalledWith('ready');
  });

  it('one that fell over and is Ready again has to stay so from then on', async () => {
    const scene = new Scene(aNode('True', '2026-03-01T09:59:00Z'));
    for (let second = 0; second < 20; second += 1) {
      await pass(1);
      scene.speaks();
    }
    scene.goAway();
    await pass(600);
    scene.becomes('True', '2026-03-01T10:05:00Z');
    scene.comeBack();

    await pass(25);
    expect(scene.outcome).not.toHaveBeenCalled();
    await pass(10);
    expect(scene.outcome).toHaveBeenCalledWith('ready');
  });
});

it('believes no watch that has fallen silent', async () => {
  const scene = new Scene(aNode('True'));
  scene.silence();
  await pass(5);
  scene.becomes('False');

  await pass(60);
  expect(scene.outcome).not.toHaveBeenCalled();
  expect(scene.blocker()).toBe('condition Ready is False');
  await pass(300);
  expect(scene.outcome).toHaveBeenCalledWith('NodeNotReady');
});

it('goes on with what an earlier attempt has counted, not with the time in between', async () => {
  const { outcome } = new Scene(aNode('False'), { blocker: 'x', waitedMs: 250_000 });

  await pass(45);
  expect(outcome).not.toHaveBeenCalled();
  await pass(10);
  expect(outcome).toHaveBeenCalledWith('NodeNotReady');
});

it('asks for nothing while much is heard, and once where nothing else happens', async () => {
  const busy = new Scene(aNode('True'));
  const quiet = new Scene(aNode('True'));
  for (let half = 0; half < 62; half += 1) {
    await pass(0.5);
    busy.speaks();
  }

  expect(busy.outcome).toHaveBeenCalledWith('ready');
  expect(busy.asked).toBe(0);
  expect(quiet.outcome).toHaveBeenCalledWith('ready');
  expect(quiet.asked).toBe(2);
});

it('says that a node was deleted which the watch still shows', async () => {
  const { outcome } = new Scene(undefined);
  await pass(60);

  expect(outcome).toHaveBeenCalledWith('NodeDeleted');
});
