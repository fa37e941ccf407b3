/**
 * `npm run demo`: MachineConfigs roll through a pool on a real kube-apiserver and Temporal server.
 * Only the hosts are simulated.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT } from '../cli/exit-codes';
import { messageOf } from '../core/errors';
import type { Observer } from '../test/observer/observer';
import { startObserver } from '../test/observer/observer';
import { repositoryRoot } from '../tools/repository-root';
import { withoutSettings } from '../tools/stack/person-settings';
import { renderedConfigOf } from '../tools/stack/readiness';
import type { Stack } from '../tools/stack/stack';
import { startStack } from '../tools/stack/stack';
import { SHOP } from '../tools/stack/workloads';
import { updatesSince } from './ended-updates';
import type { DemoOptions } from './options';
import { parseDemoOptions } from './options';
import { FIRST_SAMPLE, SECOND_SAMPLE } from './story';
import { observerLines, phaseTable } from './summary';

const POOL = 'worker';
/** Nodes are updated zone by zone. */
const ZONES = 3;

async function main(): Promise<void> {
  const options = parseDemoOptions(process.argv.slice(2));
  if (options.hosts) return runOnHosts(options);
  const started = Date.now();
  const say = (text: string) => process.stderr.write(`\n\u2500\u2500 ${text}\n`);
  const step = (text: string) =>
    process.stderr.write(
      `   ${`${Math.round((Date.now() - started) / 1000)} s`.padStart(6)}  ${text}\n`,
    );
  say('setting up: a real control plane, a real Temporal server, all Slipway processes');
  const stack = await startStack(stackOptions(options, step));
  const stopping = stopOnSignal(stack);
  try {
    const observer = await startObserver({
      kubeconfig: stack.cluster.adminKubeconfig,
      nodeSelector: 'node-role.kubernetes.io/worker',
      maxUnavailable: options.maxUnavailable,
      minAvailable: Object.fromEntries(SHOP.map(({ app, minAvailable }) => [app, minAvailable])),
    });
    step(`ready; Temporal UI: ${stack.temporal.uiUrl ?? 'none'}`);
    const began = new Date();
    const isHealed = await tellStory(stack, options, say);
    await summarize(stack, observer, { options, began, say });
    observer.stop();
    if (options.keep) await stay(stack, say, stopping);
    if (!isHealed || observer.record.violations.length > 0) process.exitCode = 1;
  } finally {
    await stack.stop();
  }
}

/** In its own process, because it runs in other namespaces. */
async function runOnHosts({ keep }: DemoOptions): Promise<void> {
  const script = join(repositoryRoot(), 'tools', 'setup', 'on-hosts.mjs');
  const program = ['dist/test/hosts/demo.js', ...(keep ? ['--keep'] : [])];
  const child = spawn(process.execPath, [script, ...program], { stdio: 'inherit' });
  // The child shuts down in order.
  process.on('SIGINT', () => undefined);
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

function stackOptions(options: DemoOptions, step: (text: string) => void) {
  return {
    nodes: { master: 3, worker: options.nodes },
    zones: ZONES,
    maxUnavailable: options.maxUnavailable,
    policy: {
      canary: { nodes: 1 },
      failureThreshold: 2,
      verify: { readySeconds: options.fast ? 1 : 2 },
    },
    simulation: {
      stageSeconds: options.fast ? 0.5 : 1,
      applySeconds: options.fast ? 0.2 : 0.5,
      rebootSeconds: options.fast ? 1.5 : 3,
      jitter: 0.2,
      failures: [`node=${failingNode(options.nodes)},at=verify,times=1`],
    },
    workloads: SHOP,
    temporalUi: true,
    onStep: step,
  };
}

/**
 * Its first verification fails. The last in order, so that its update starts after the second
 * config has arrived.
 */
function failingNode(nodes: number): string {
  return `worker-${nodes < ZONES ? nodes - 1 : nodes - 1 - (nodes % ZONES)}`;
}

/** @returns whether every node is updated in the end */
async function tellStory(
  stack: Stack,
  options: DemoOptions,
  say: (text: string) => void,
): Promise<boolean> {
  const slipway = cli(stack);
  const before = await renderedConfigOf(stack.cluster.admin, POOL);
  say(`for all ${options.nodes} workers: kubectl apply -f ${FIRST_SAMPLE}`);
  await stack.manifests.applyFiles(FIRST_SAMPLE);
  await renderedOtherThan(stack, before);
  await slipway('plan', POOL);

  say(`slipway rollout status worker --watch   (on the way: kubectl apply -f ${SECOND_SAMPLE})`);
  const watching = slipway('rollout', 'status', POOL, '--watch');
  const second = applySecondWhenRolling(stack, Math.ceil(options.nodes / 4));
  const [ended] = await Promise.all([watching, second]);

  const isHealed =
    ended === EXIT.OK || (await healed(slipway, failingNode(options.nodes), ended, say));
  if (ended === EXIT.OK) say('the second config fixed the host that failed on the first');
  await slipway('get', 'pools');
  return isHealed;
}

/** Retries the failed node, as a person would. */
async function healed(
  slipway: ReturnType<typeof cli>,
  node: string,
  ended: number,
  say: (text: string) => void,
): Promise<boolean> {
  if (ended !== EXIT.FAILED) return false;
  say(`${node} failed its verification: it went back to its old config and to service`);
  await slipway('node', 'status', node);
  say(`slipway node retry ${node}`);
  if ((await slipway('node', 'retry', node)) !== EXIT.OK) return false;
  return (await slipway('rollout', 'status', POOL, '--watch')) === EXIT.OK;
}

/** Runs the CLI on this terminal, as a person would. */
function cli(stack: Stack) {
  return async (...args: readonly string[]): Promise<number> => {
    const main = join(repositoryRoot(), 'dist', 'cli', 'main.js');
    const child = spawn(process.execPath, [main, ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...withoutSettings(), ...stack.cliEnvironment },
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  };
}

async function renderedOtherThan(stack: Stack, before: string): Promise<string> {
  for (;;) {
    const name = await renderedConfigOf(stack.cluster.admin, POOL);
    if (name !== before) return name;
    await delay(100);
  }
}

/** Applies the second config during the rollout. */
async function applySecondWhenRolling(stack: Stack, updated: number): Promise<void> {
  const target = await renderedConfigOf(stack.cluster.admin, POOL);
  for (;;) {
    const { items } = await stack.cluster.admin.call<NodeList>('GET', '/api/v1/nodes');
    const done = items.filter(
      ({ metadata }) => metadata.annotations?.[CURRENT_CONFIG] === target,
    ).length;
    if (done >= updated) break;
    await delay(300);
  }
  await stack.manifests.applyFiles(SECOND_SAMPLE);
}

const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  }[];
}

interface Told {
  readonly options: DemoOptions;
  readonly began: Date;
  readonly say: (text: string) => void;
}

async function summarize(
  stack: Stack,
  observer: Observer,
  { options, began, say }: Told,
): Promise<void> {
  say('summary');
  const updates = await updatesSince(stack, POOL, began);
  const count = (outcome: string) => updates.filter((one) => one.outcome === outcome).length;
  const lines = [
    `  updates: ${count('updated')} updated, ${count('failed')} failed, ${count('cancelled')} cancelled by the retarget`,
    ...phaseTable(updates),
    '',
    '  results of an observer that shares no code with the product:',
    ...observerLines(observer.record, options.maxUnavailable),
    '',
    `  Temporal UI   ${stack.temporal.uiUrl ?? ''}`,
    `  its decoder   ${stack.temporal.uiCodecUrl ?? ''}: without a login, for development only`,
    `  kube-apiserver ${stack.cluster.server}`,
    '  simulated here: OS deployments, reboots, running services; real: everything else, files included',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function stopOnSignal(stack: Stack): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      process.once(name, () => {
        resolve();
        void stack.stop().then(() => process.exit(130));
      });
    }
  });
}

async function stay(
  stack: Stack,
  say: (text: string) => void,
  stopping: Promise<void>,
): Promise<void> {
  say('everything keeps running; Ctrl-C ends it. In another terminal:');
  const environment = Object.entries(stack.cliEnvironment)
    .map(([key, value]) => `export ${key}=${value}`)
    .join('\n');
  process.stdout.write(
    `${environment}
kubectl get mcp,mcn,nodes
bin/slipway get nodes
bin/slipway plan worker
kubectl apply -f demo/manifests/ssh-keys.yaml        # costs nothing: no drain, no reboot
bin/slipway rollout status worker --watch
files of a host: ls ${stack.hostRoot('worker-0')}/etc
`,
  );
  // Waiting for a signal does not keep a process alive.
  const alive = setInterval(() => undefined, 60_000);
  await stopping;
  clearInterval(alive);
}

main().catch((error: unknown) => {
  process.stderr.write(`slipway demo: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
