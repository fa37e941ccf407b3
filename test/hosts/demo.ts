/**
 * `npm run demo -- --hosts`: the demo on three real machines, in the namespace of
 * tools/setup/in-namespace.sh.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';
import { SECOND_SAMPLE } from '../../demo/story';
import { observerLines } from '../../demo/summary';
import { repositoryRoot } from '../../tools/repository-root';
import { withoutSettings } from '../../tools/stack/person-settings';
import { createLifetime } from './lifetime';
import { hostConfig, plainFile } from './support/configs';
import type { Fleet } from './support/fleet';
import { POOL } from './support/fleet';
import { startWorld, type World } from './support/world';

const HOSTS = 3;
/** Its disk has a file that no config can write. */
const FAILING_NODE = `${POOL}-2`;
const IMMOVABLE = '/etc/sysctl.d/99-demo.conf';

async function main(): Promise<void> {
  const keep = process.argv.includes('--keep');
  const started = Date.now();
  const say = (text: string) => process.stderr.write(`\n── ${text}\n`);
  const step = (text: string) => {
    const seconds = `${Math.round((Date.now() - started) / 1000)} s`;
    process.stderr.write(`   ${seconds.padStart(6)}  ${text}\n`);
  };
  say(`setting up: a real control plane, a real registry, ${HOSTS} machines that really boot`);
  const lifetime = createLifetime();
  try {
    const world = await startWorld(lifetime, {
      hosts: HOSTS,
      temporalUi: true,
      policy: { canary: { nodes: 1 }, failureThreshold: 2, verify: { readySeconds: 2 } },
      onStep: step,
    });
    step('every machine is Ready');
    await tellStory(world, say);
    await summarize(world, say);
    if (keep) await stay(world.fleet, say);
    if (world.record.violations.length > 0) process.exitCode = 1;
  } finally {
    await lifetime.end();
  }
}

async function tellStory(world: World, say: (text: string) => void): Promise<void> {
  const slipway = cli(world.fleet);
  const failing = world.machines.find(({ name }) => name === FAILING_NODE);
  await failing?.output('sh', '-c', `echo mine >${IMMOVABLE} && chattr +i ${IMMOVABLE}`);
  say('kubectl apply: OS image v2, kernel argument nosmt and a sysctl file, for all workers');
  await world.roll(hostConfig('50-os', { osImageURL: world.fleet.images.v2 }));
  const before = world.target();
  await world.fleet.manifests.applyObject(
    hostConfig('50-worker-tuning', {
      kernelArguments: ['nosmt'],
      files: [plainFile(IMMOVABLE, 'net.core.somaxconn = 4096\n')],
    }),
  );
  await world.until('the second config is rendered', () => world.target() !== before);
  await slipway('plan', POOL);
  await slipway('rollout', 'status', POOL, '--watch');

  say(`${FAILING_NODE} cannot write ${IMMOVABLE}: it is as it was, and in service`);
  await slipway('node', 'status', FAILING_NODE);
  say(`the file is made writable again; slipway node retry ${FAILING_NODE}`);
  await failing?.output('sh', '-c', `chattr -i ${IMMOVABLE} && rm ${IMMOVABLE}`);
  await slipway('node', 'retry', FAILING_NODE);
  await slipway('rollout', 'status', POOL, '--watch');

  say(`kubectl apply -f ${SECOND_SAMPLE}`);
  const target = world.target();
  await world.fleet.manifests.applyFiles(SECOND_SAMPLE);
  await world.until('the file is rendered', () => world.target() !== target);
  await slipway('rollout', 'status', POOL, '--watch');
  await slipway('get', 'nodes');
}

async function summarize(world: World, say: (text: string) => void): Promise<void> {
  say('summary');
  const lines = await Promise.all(
    world.machines.map(async (machine) => {
      const version = (await machine.output('cat', '/usr/lib/os-version')).trim();
      const line = (await machine.output('cat', '/proc/cmdline')).replace(/ostree=\S+/, '').trim();
      return `  ${machine.name}: ${version}, ${machine.launcher.boots()} boots, ${line}`;
    }),
  );
  const all = [
    ...lines,
    ...observerLines(world.record, 1),
    `  Temporal UI   ${world.fleet.temporal.uiUrl ?? ''}`,
    `  its decoder   ${world.fleet.temporal.uiCodecUrl ?? ''}: without a login, for development only`,
    '  stood in for here: the boot loader and the kernel command line; real: everything else',
  ];
  process.stdout.write(`${all.join('\n')}\n`);
}

/** Runs the CLI on this terminal, as a person would. */
function cli(fleet: Fleet) {
  return async (...args: readonly string[]): Promise<void> => {
    const child = spawn(process.execPath, [join(repositoryRoot(), 'dist/cli/main.js'), ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...withoutSettings(), ...fleet.cliEnvironment },
    });
    await once(child, 'exit');
  };
}

async function stay(fleet: Fleet, say: (text: string) => void): Promise<void> {
  say('everything keeps running; Ctrl-C ends it. In another terminal, as root:');
  const environment = Object.entries(fleet.cliEnvironment)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
  process.stdout.write(
    `nsenter --target ${process.ppid} --all env ${environment} bin/slipway get nodes\n`,
  );
  const alive = setInterval(() => undefined, 60_000);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  clearInterval(alive);
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`slipway demo: ${messageOf(error)}\n`);
    process.exit(1);
  },
);
