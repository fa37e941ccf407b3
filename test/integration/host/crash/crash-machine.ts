/**
 * A machine on a `ModelDisk`: the production code of a host, an operating system whose `/etc` belongs to its
 * deployments, and the orders of an update as a workflow gives them.
 */

import { createHostActivities } from '../../../../activities/host/host-activities';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import type { HostPorts, UpdateHeader, UpdateMark } from '../../../../host/ports';
import {
  createHostFiles,
  createHostUsers,
  createJournal,
  createOfflineSystemd,
  type HostFiles,
} from '../../../../adapters/host';
import { createSimulatedOs, type SimulatedOs } from '../../../../adapters/simulation';
import { fail, failureName } from '../../../../core/errors';
import type { GoneBack } from '../../../../workflows/contracts/host';
import { NODE, orderFor, type TestConfig } from '../../../unit/host/a-host';
import { CONFIGS } from './configs';
import { type Attributes, ModelDisk, type Picture, ROOT_INODE } from './model-disk';
import { aProcess, type ModelProcess } from './model-file-system';

/** Not the real machine's attributes: its security policy does not apply here. */
const MACHINE = 'machine';
const ETC = 'etc';

const STEPS = [
  'prepareUpdate',
  'applyUpdate',
  'armReboot',
  'performServiceActions',
  'verifyUpdate',
  'commitUpdate',
] as const;
export type Step = (typeof STEPS)[number];

/** As in every order: it is written down for a rollback without the workflow. */
const RECONNECT_SECONDS = 600;

/** Faults that tests put between the product and the disk. */
export interface Interference {
  readonly process?: (process: ModelProcess) => ModelProcess;
  readonly ports?: (ports: HostPorts) => HostPorts;
}

export class CrashMachine {
  readonly disk: ModelDisk;
  readonly #interference: Interference;

  constructor(picture?: Picture, interference: Interference = {}) {
    this.disk = new ModelDisk(picture);
    this.#interference = interference;
    this.#machine();
  }

  async ports(): Promise<HostPorts & { readonly os: SimulatedOs }> {
    const process = (this.#interference.process ?? ((one) => one))(aProcess(this.disk));
    const files: HostFiles = createHostFiles({ root: `/${MACHINE}`, ...process });
    const os = await createSimulatedOs({ files, pace: { take: async () => undefined } });
    const ports = {
      node: NODE,
      files,
      users: createHostUsers(files),
      journal: createJournal<UpdateHeader, UpdateMark>(files),
      systemd: createOfflineSystemd(files),
      os,
      configs: { fetch: async (name: string) => bytesOf(name) },
      reboot: { request: () => undefined },
      now: () => new Date('2030-01-01T00:00:00Z'),
      context: () => ({ signal: new AbortController().signal, progress: () => undefined }),
      pause: async () => undefined,
    };
    return { ...ports, ...this.#interference.ports?.(ports), os };
  }

  async activities() {
    return createHostActivities(await this.ports());
  }

  /** An orderly shutdown, and a boot of the deployment that was staged and released. */
  async reboot(): Promise<void> {
    const { staged } = await (await this.ports()).os.status();
    if (staged?.locked === false) this.#copyEtc(staged.id);
    await this.#boot();
  }

  /** A power cut: a staged deployment is not finalized. */
  async bootAfterPowerCut(): Promise<void> {
    await (await this.ports()).os.discard();
    await this.#boot();
  }

  async #boot(): Promise<void> {
    const { os } = await this.ports();
    const before = await os.status();
    await os.boot({ broken: false });
    const after = await os.status();
    if (before.booted.id !== after.booted.id) this.#swapEtc(before.booted.id, after.booted.id);
    this.disk.syncAll();
  }

  /** Runs the program before the kubelet, with the reboots that it asks for. @returns its messages */
  async settle(): Promise<readonly string[]> {
    const said: string[] = [];
    for (let boots = 0; ; boots += 1) {
      const { what, reboot, foreign } = await settleAtStart(await this.ports());
      if (what !== undefined) said.push(what);
      if (foreign !== undefined) throw new Error(`foreign: ${foreign}`);
      if (reboot === undefined) return said;
      if (boots > 4) throw new Error(`boots for ever: ${said.join('; ')}`);
      await this.reboot();
    }
  }

  /** Path → all its properties, without the host's own records. */
  tree(): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    const visit = (number: number, path: string): void => {
      const inode = this.disk.inode(number);
      const { kind, mode, uid, gid, attributes } = inode;
      const content =
        inode.kind === 'file'
          ? inode.data.toString('latin1')
          : inode.kind === 'symlink'
            ? inode.target
            : '';
      if (path !== '') {
        found[path] = [kind, mode.toString(8), uid, gid, JSON.stringify(attributes), content].join(
          ' ',
        );
      }
      if (inode.kind !== 'directory') return;
      for (const [name, next] of inode.entries) {
        const at = path === '' ? `/${name}` : `${path}/${name}`;
        if (at !== '/var/lib/slipway' && !at.startsWith('/deployments')) visit(next, at);
      }
    };
    visit(this.#machine(), '');
    // The product makes the directories above its own when it begins.
    delete found['/var/lib'];
    return found;
  }

  /** The host's own records, by name. */
  memory(): readonly string[] {
    const names: string[] = [];
    const visit = (number: number, path: string): void => {
      const inode = this.disk.inode(number);
      if (inode.kind !== 'directory') names.push(path);
      else for (const [name, next] of inode.entries) visit(next, `${path}/${name}`);
    };
    const at = this.#find(['var', 'lib', 'slipway']);
    if (at !== undefined) visit(at, '');
    return names.sort();
  }

  #find(parts: readonly string[]): number | undefined {
    let at: number | undefined = this.#machine();
    for (const part of parts) {
      const inode: ReturnType<ModelDisk['inode']> | undefined =
        at === undefined ? undefined : this.disk.inode(at);
      at = inode?.kind === 'directory' ? inode.entries.get(part) : undefined;
    }
    return at;
  }

  #machine(): number {
    return this.#entry(ROOT_INODE, MACHINE) ?? this.#makeDirectory(ROOT_INODE, MACHINE);
  }

  #entry(directory: number, name: string): number | undefined {
    const inode = this.disk.inode(directory);
    return inode.kind === 'directory' ? inode.entries.get(name) : undefined;
  }

  #link(directory: number, name: string, target: number | undefined): void {
    const inode = this.disk.inode(directory);
    if (inode.kind !== 'directory') throw new Error('not a directory');
    const entries = new Map(inode.entries);
    if (target === undefined) entries.delete(name);
    else entries.set(name, target);
    this.disk.set(directory, { ...inode, entries });
    this.disk.sync(directory);
  }

  #makeDirectory(parent: number, name: string): number {
    const owner = { uid: 0, gid: 0, attributes: {} };
    const made = this.disk.create({ kind: 'directory', mode: 0o755, entries: new Map(), ...owner });
    this.disk.sync(made);
    this.#link(parent, name, made);
    return made;
  }

  #deployments(): number {
    return this.#entry(ROOT_INODE, 'deployments') ?? this.#makeDirectory(ROOT_INODE, 'deployments');
  }

  /** ostree finalizes a deployment with the files of this moment. */
  #copyEtc(deployment: string): void {
    const copy = (number: number): number => {
      const inode = this.disk.inode(number);
      if (inode.kind !== 'directory') return this.disk.create(inode);
      const entries = new Map([...inode.entries].map(([name, next]) => [name, copy(next)]));
      return this.disk.create({ ...inode, entries });
    };
    const etc = this.#entry(this.#machine(), ETC);
    if (etc !== undefined) this.#link(this.#deployments(), deployment, copy(etc));
  }

  #swapEtc(from: string, to: string): void {
    const etc = this.#entry(this.#machine(), ETC);
    this.#link(this.#deployments(), from, etc);
    const other = this.#entry(this.#deployments(), to);
    if (other === undefined) throw new Error(`deployment ${to} has no /etc`);
    this.#link(this.#machine(), ETC, other);
  }

  remove(path: string): void {
    const parts = path.split('/').slice(1);
    const parent = this.#find(parts.slice(0, -1));
    if (parent === undefined) throw new Error(`${path} has no directory`);
    this.#link(parent, parts.at(-1) ?? '', undefined);
  }

  label(path: string, attributes: Attributes): void {
    const number = this.#find(path.split('/').slice(1));
    if (number === undefined) throw new Error(`${path} is not there`);
    this.disk.set(number, { ...this.disk.inode(number), attributes });
    this.disk.sync(number);
  }

  /** Changes a file on this disk without a recorded operation. */
  damage(path: string, change: (data: Buffer) => Buffer): void {
    const number = this.#find(path.split('/').slice(1));
    const inode = number === undefined ? undefined : this.disk.inode(number);
    if (number === undefined || inode?.kind !== 'file') throw new Error(`${path} is no file`);
    this.disk.set(number, { ...inode, data: change(Buffer.from(inode.data)) });
    this.disk.sync(number);
  }
}

function bytesOf(name: string): Buffer {
  const config = CONFIGS.find(({ reference }) => reference.name === name);
  if (config === undefined) throw fail('ConfigFetchFailed', `fetch ${name}: 404`);
  return config.bytes;
}

/** An update as a workflow runs it: its steps, and what it knows so far. */
export class Conductor {
  readonly #config: TestConfig;
  readonly #steps: readonly Step[];
  readonly #runId: string;
  #rebootedFrom: string | undefined;

  /** @param options - `run`: number of the workflow; another one after it was lost */
  constructor(config: TestConfig, options: { readonly reboots: boolean; readonly run?: number }) {
    this.#config = config;
    this.#runId = `${config.reference.name}${options.run === undefined ? '' : `-${options.run}`}`;
    this.#steps = STEPS.filter(
      (step) => step !== (options.reboots ? 'performServiceActions' : 'armReboot'),
    );
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** @param options - `reboots`: with the boot and the program before the kubelet; otherwise the order alone */
  async run(
    machine: CrashMachine,
    step: Step,
    { reboots = false, rebootedFrom }: RunOptions = {},
  ): Promise<void> {
    this.#rebootedFrom ??= rebootedFrom;
    const activities = await machine.activities();
    const order = this.#order(step);
    const from = this.#rebootedFrom === undefined ? {} : { rebootedFrom: this.#rebootedFrom };
    if (step !== 'armReboot') {
      await activities[step]({ ...order, ...from, commitWithinSeconds: 1_200 });
      return;
    }
    const within = { ...order, reconnectSeconds: RECONNECT_SECONDS };
    this.#rebootedFrom = (await activities.armReboot(within)).bootId;
    if (reboots) await this.#reboot(machine, this.#rebootedFrom);
  }

  /** Does nothing when the machine has rebooted already. */
  async #reboot(machine: CrashMachine, bootId: string): Promise<void> {
    const { os } = await machine.ports();
    if ((await os.status()).bootId === bootId) await machine.reboot();
    await machine.settle();
  }

  #order(step: string) {
    const reload = { type: 'Reload', reload: { serviceName: 'stays.service' } } as const;
    return orderFor(this.#config, step, {
      orderId: `update-node/${NODE}/${this.#runId}/${step}`,
      disruptionPolicies: { files: [{ path: '/etc/changed', actions: [reload] }] },
    });
  }

  /** Repeats the interrupted step and goes on; rolls back when a step fails. */
  async finish(machine: CrashMachine, from: Step, rebootedFrom?: string): Promise<string> {
    for (const step of this.#steps.slice(this.#steps.indexOf(from))) {
      try {
        await this.#patiently(machine, step, { reboots: true, rebootedFrom });
      } catch (error) {
        if (failureName(error) === undefined) throw error;
        const end = await this.end(machine, step);
        return end === 'finished' ? end : `${end}: ${String(error)}`;
      }
    }
    return 'finished';
  }

  /** From the beginning, whatever an earlier workflow has left. */
  async bring(machine: CrashMachine): Promise<string> {
    const activities = await machine.activities();
    const { alreadyOnTarget } = await activities.prepareUpdate(this.#order('prepareUpdate'));
    return alreadyOnTarget ? 'finished' : this.finish(machine, 'applyUpdate');
  }

  /** With the reboots that a host asks for after a cut one. */
  async #patiently(machine: CrashMachine, step: Step, options: RunOptions): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.run(machine, step, options);
        return;
      } catch (error) {
        if (failureName(error) !== 'NotYetRebooted' || attempt > 3) throw error;
        await machine.reboot();
        await machine.settle();
      }
    }
  }

  /** The order alone, without boot and verification. */
  async orderBack(machine: CrashMachine): Promise<GoneBack> {
    return (await machine.activities()).goBack(this.#order('goBack'));
  }

  /** As the workflow ends an update in this step: one that was not prepared is dropped, every other goes back. */
  async end(machine: CrashMachine, step: Step | 'goBack'): Promise<'went back' | 'finished'> {
    if (step !== 'prepareUpdate') return this.goBack(machine);
    await (await machine.activities()).discardStaged(this.#order('discardStaged'));
    return 'went back';
  }

  /** First asks whether the host has committed, as after an unanswered order to commit. */
  async goBack(machine: CrashMachine): Promise<'went back' | 'finished'> {
    const question = { ...this.#order('goBack-asked'), onlyAsks: true as const };
    const { committed } = await (await machine.activities()).goBack(question);
    if (committed === true) return 'finished';
    const { rebooting, bootId } = await this.orderBack(machine);
    if (rebooting) await this.#reboot(machine, bootId);
    const verify = this.#order('verifyBack');
    const activities = await machine.activities();
    await activities.verifyBack(rebooting ? { ...verify, rebootedFrom: bootId } : verify);
    return 'went back';
  }

  get rebootedFrom(): string | undefined {
    return this.#rebootedFrom;
  }
}

interface RunOptions {
  readonly reboots?: boolean;
  /** The boot in which an order before the death armed the reboot. */
  readonly rebootedFrom?: string | undefined;
}
