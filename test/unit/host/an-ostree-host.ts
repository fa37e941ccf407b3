/**
 * A host whose `/etc` belongs to its deployments, as on image-based systems: a staged deployment gets a copy of
 * the running one when it is finalized at an orderly shutdown, and the old one keeps later changes. A power cut
 * drops the staged one.
 */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostActivities } from '../../../activities/host/host-activities';
import { settleAtStart, type Settlement } from '../../../host/settle/settle-at-start';
import type { OsStatus } from '../../../host/ports';
import { SIMULATED_OS_FILE } from '../../../adapters/simulation/os-driver';
import { aCopyOf, aHost, copyOfTree, orderFor, type TestConfig, type TestHost } from './a-host';

export type OstreeHost = ReturnType<typeof ostreeHost>;

/** On its first config. */
export async function anOstreeHost(
  first: TestConfig,
  configs: readonly TestConfig[],
): Promise<OstreeHost> {
  const etcs = mkdtempSync(join(tmpdir(), 'slipway-etcs-'));
  const host = ostreeHost(await aHost([first, ...configs]), etcs);
  const order = (step: string) => orderFor(first, step, { orderId: `first/${step}` });
  const activities = await host.activities();
  await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  await activities.armReboot(order('armReboot'));
  await host.reboot();
  const booted = await host.activities();
  await booted.verifyUpdate(order('verifyUpdate'));
  await booted.commitUpdate(order('commitUpdate'));
  host.reboots.length = 0;
  return host;
}

/** The same machine once more, as it is on disk: cheaper than taking another one there. */
export async function aCopyOfOstree(host: OstreeHost): Promise<OstreeHost> {
  return ostreeHost(await aCopyOf(host), copyOfTree(host.etcs));
}

function ostreeHost(host: TestHost, etcs: string) {
  const etc = join(host.root, 'etc');
  const etcOf = (deployment: string) => join(etcs, deployment);
  const os = async () => (await host.ports()).os;
  const status = async (): Promise<OsStatus> => (await os()).status();

  function swap(from: string, to: string): void {
    if (from === to) return;
    renameSync(etc, etcOf(from));
    if (existsSync(etcOf(to))) renameSync(etcOf(to), etc);
    else mkdirSync(etc);
  }

  async function boot(): Promise<void> {
    const before = await status();
    await host.boot();
    swap(before.booted.id, (await status()).booted.id);
  }

  /** An orderly shutdown: a staged and released deployment is finalized with the present `/etc`. */
  async function reboot(): Promise<void> {
    const { staged } = await status();
    if (staged?.locked === false) execFileSync('cp', ['-a', etc, etcOf(staged.id)]);
    await boot();
  }

  /** Drops a staged deployment, released or not: it is not finalized. */
  async function powerCut(): Promise<void> {
    await (await os()).discard();
    await boot();
  }

  /** A person boots another deployment, made from the running one. */
  async function bootOther(id: string, image: string): Promise<void> {
    const { booted } = await status();
    const file = join(host.root, SIMULATED_OS_FILE);
    execFileSync('cp', ['-a', etc, etcOf(id)]);
    const state = JSON.parse(readFileSync(file, 'utf8')) as OsStatus;
    const other = { ...booted, id, image };
    writeFileSync(
      file,
      JSON.stringify({ ...state, bootId: randomUUID(), booted: other, rollback: booted }),
    );
    swap(booted.id, id);
  }

  const fault: { path?: string } = {};
  const settleOnce = async () => settleAtStart(await host.ports());

  return {
    ...host,
    /** A process whose writes of this path fail. */
    failWrites(path: string | undefined): void {
      if (path === undefined) delete fault.path;
      else fault.path = path;
    },
    activities: async () => {
      const ports = await host.ports();
      const files: typeof ports.files = {
        ...ports.files,
        async change(changes, step) {
          const at = changes.findIndex(({ path }) => path === fault.path);
          await ports.files.change(at === -1 ? changes : changes.slice(0, at), step);
          if (at !== -1) throw new Error('no space left on device');
        },
      };
      return createHostActivities({ ...ports, files });
    },
    /** Changes the booted deployment without the product's knowledge. */
    changeBooted(change: Partial<OsStatus['booted']>): void {
      const file = join(host.root, SIMULATED_OS_FILE);
      const state = JSON.parse(readFileSync(file, 'utf8')) as OsStatus;
      writeFileSync(file, JSON.stringify({ ...state, booted: { ...state.booted, ...change } }));
    },
    etcs,
    etcOf,
    status,
    reboot,
    powerCut,
    bootOther,
    settleOnce,
    /** Runs the program before the kubelet, with the reboot that it may ask for. */
    async settle(): Promise<Settlement> {
      const settled = await settleOnce();
      if (settled.reboot !== undefined) await reboot();
      return settled;
    },
    remove: () => {
      host.remove();
      rmSync(etcs, { recursive: true, force: true });
    },
  };
}
