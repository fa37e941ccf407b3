/**
 * A simulated machine: what is on its disk, what it has booted, and what it keeps to itself when its
 * process dies or its power goes. It keeps the promises of the real host worker (`activities/host`),
 * in a hundredth of the code; it is not that code.
 */

import type { Chance, VirtualClock } from '../clock';
import {
  hasStartedOn,
  isDecided,
  secondsAway,
  type Journal,
  type SimulatedConfig,
} from './journal';

/** `node-monitor-grace-period` of the cluster. */
const SILENT_KUBELET_MS = 50_000;

export type RebootCause = 'update' | 'back' | 'accident';

/** Told of what a machine does to its node. */
interface MachineWatcher {
  reboots(host: Host, cause: RebootCause, run: string | undefined): void;
  /** The kubelet says so. */
  reports(host: Host, ready: boolean): void;
  note(who: string, what: string): void;
}

export class Host {
  /** Recorded as current. */
  current: string;
  /** Whose files are on disk; `half` in the middle of writing. */
  files: string;
  os: string;
  boot = 1;
  journal: Journal | undefined;
  staged: string | undefined;
  isUp = true;
  isWorking = true;
  isCut = false;
  isDead = false;
  /** A person has edited a managed file, and has not put it back. */
  isEdited = false;
  /** Answers by order, and which update is listened to. */
  answers = new Map<string, unknown>();
  currentRun: string | undefined;
  /** What that update brings the host to. */
  currentTarget: string | undefined;
  isBack = false;
  /** How an update to that failed, this one or a lost one before it. */
  failed: string | undefined;
  readonly pastRuns = new Set<string>();
  /** Ends every attempt of this process. */
  readonly attempts = new Set<{ die(): void }>();
  private waiting: (() => void)[] = [];
  private turn: Promise<void> = Promise.resolve();
  private incarnation = 0;
  private bootedAt = 0;
  /** Counts how often it was cut off. */
  private cuts = 0;

  constructor(
    readonly name: string,
    config: SimulatedConfig,
    private readonly clock: VirtualClock,
    private readonly chance: Chance,
    private readonly watcher: MachineWatcher,
  ) {
    this.current = config.name;
    this.files = config.name;
    this.os = config.os;
  }

  get bootId(): string {
    return `${this.name}-boot-${this.boot}`;
  }

  isPolling(): boolean {
    return this.isUp && this.isWorking && !this.isCut && !this.isDead;
  }

  /** Its kubelet says that the node is Ready, if the update under way lets it be. */
  report(isReady: boolean): void {
    const { target } = this.journal ?? {};
    const isKeptFrom = target?.neverReady === true && this.os === target.os;
    this.watcher.reports(this, isReady && !isKeptFrom);
  }

  whenPolled(start: () => void): void {
    if (this.isPolling()) start();
    else this.waiting.push(start);
  }

  /** One at a time, as the real host worker does it. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.turn;
    let end: () => void = () => undefined;
    this.turn = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The process of the host worker dies; it comes back by itself unless the machine is dead. */
  killWorker(backInMs = this.chance.between(500, 20_000)): void {
    if (!this.isWorking) return;
    this.watcher.note(this.name, 'host worker dies');
    this.stopWorker();
    const { incarnation } = this;
    this.clock.after(backInMs, () => {
      if (incarnation === this.incarnation && this.isUp) this.startWorker();
    });
  }

  /** The acknowledged reboot: no more work is taken, then the machine goes down. */
  requestReboot(cause: RebootCause, run: string | undefined): void {
    const { incarnation } = this;
    this.clock.after(this.chance.between(20, 300), () => {
      if (incarnation !== this.incarnation) return;
      this.isWorking = false;
      this.clock.after(this.chance.between(100, 3_000), () => {
        if (incarnation !== this.incarnation) return;
        if (this.isRebootDue()) this.reboot(cause, run);
        else this.startWorker();
      });
    });
  }

  /** What was carried out since it was asked for may have undone what it is for. */
  private isRebootDue(): boolean {
    const { armed, goingBack } = this.journal ?? {};
    return goingBack === undefined ? armed === this.boot : this.isBootBackDue();
  }

  /** An order may have begun to go back, and failed before it asked for the reboot. */
  private isBootBackDue(): boolean {
    const { goingBack } = this.journal ?? {};
    return goingBack?.bootId === this.boot && goingBack.due === true;
  }

  reboot(cause: RebootCause, run?: string): void {
    if (!this.isUp || this.isDead) return;
    this.watcher.note(this.name, `goes down (${cause})`);
    this.watcher.reboots(this, cause, run);
    this.stopWorker();
    this.isUp = false;
    this.report(false);
    const { incarnation } = this;
    this.clock.after(this.chance.between(5_000, 60_000), () => {
      if (incarnation === this.incarnation && !this.isDead) this.comeUp();
    });
  }

  /** For good, unless somebody repairs it. */
  breakDown(): void {
    if (this.isDead) return;
    this.watcher.note(this.name, 'breaks down');
    this.stopWorker();
    this.isDead = true;
    this.isUp = false;
    this.report(false);
  }

  repair(): void {
    const wasDead = this.isDead;
    if (wasDead) {
      this.watcher.note(this.name, 'is repaired');
      this.isDead = false;
      this.comeUp();
    }
    this.isEdited = false;
    // Whatever its config did to its network: somebody was there.
    this.isCut = false;
    if (!wasDead && this.isUp) this.startWorker();
  }

  /** @param isKubeletToo - false = from Temporal alone */
  setCut(isCut: boolean, isKubeletToo = true): void {
    this.isCut = isCut;
    this.cuts += 1;
    this.watcher.note(this.name, isCut ? 'is cut off' : 'is reached again');
    if (isCut) {
      this.watchWord();
      if (isKubeletToo) this.fallSilent();
    } else {
      this.report(this.isUp);
      this.wakeWaiting();
    }
  }

  /** The cluster believes in its kubelet for a while. */
  private fallSilent(): void {
    const { cuts } = this;
    this.clock.after(SILENT_KUBELET_MS, () => {
      if (cuts === this.cuts && this.isCut) this.report(false);
    });
  }

  /** Something of the config has the machine cut off a little later. */
  cutLater(journal: Journal): void {
    this.clock.after(1_000, () => {
      if (this.journal === journal && this.files === journal.target.name) this.setCut(true);
    });
  }

  /** To be called at the start, and whenever an order has ended. Whoever is in contact has nothing to wait for. */
  watchWord(): void {
    const { journal, incarnation, cuts } = this;
    if (journal === undefined) return;
    const since = this.clock.now;
    const isSilent = (): boolean =>
      this.isCut &&
      cuts === this.cuts &&
      incarnation === this.incarnation &&
      this.isWordAwaited(journal, since);
    if (!isSilent()) return;
    this.clock.after(secondsAway(journal) * 1000, () => {
      if (!isSilent()) return;
      void this.inTurn(async () => {
        if (isSilent()) this.goBackInPlace(journal);
      });
    });
  }

  /**
   * Commit-confirm of what is written in this boot, wholly or in part, and whose reboot is not armed; and of what is
   * verified after its boot, until the commit.
   */
  private isWordAwaited(journal: Journal, since: number): boolean {
    const { armed, begunIn, verifiedIn } = journal;
    if (this.journal !== journal || isDecided(journal, since)) return false;
    if (hasStartedOn(journal, this.boot)) return verifiedIn === this.boot;
    return armed === undefined && begunIn === this.boot;
  }

  /** The boot into the update is over: nothing but another one takes it back. */
  private goBackWithBoot(journal: Journal): void {
    this.endRun(journal);
    const why = { because: 'nobody could be reached', again: false, failed: true } as const;
    journal.goingBack = { bootId: this.boot, due: true, ...why };
    this.files = journal.previousFiles;
    this.reboot('back', journal.run);
  }

  private goBackInPlace(journal: Journal): void {
    if (hasStartedOn(journal, this.boot)) return this.goBackWithBoot(journal);
    this.watcher.note(this.name, 'goes back in place');
    this.endRun(journal);
    journal.goingBack = { because: 'nobody could be reached', again: false, failed: true };
    this.takeFilesBack(journal);
    this.staged = undefined;
  }

  /** What has cut it off is gone with them. */
  takeFilesBack(journal: Journal): void {
    this.files = journal.previousFiles;
    const { cutsWhenWritten, cutsOnceVerified } = journal.target;
    if (this.isCut && (cutsWhenWritten === true || cutsOnceVerified === true)) this.setCut(false);
  }

  /** No order of the update is carried out any more, whoever has begun it. */
  private endRun({ target }: Journal): void {
    this.answers.clear();
    if (this.currentTarget === target.name) this.isBack = true;
  }

  private comeUp(): void {
    this.boot += 1;
    this.bootedAt = this.clock.now;
    this.isUp = true;
    this.settleAtBoot();
    this.watcher.note(this.name, `is up, boot ${this.boot}, os ${this.os}, files ${this.files}`);
    const { target } = this.journal ?? {};
    const isLate = target?.cutsOnceVerified === true && this.journal?.verified === true;
    const cuts = target?.cutsNetwork === true || target?.cutsWhenWritten === true || isLate;
    this.isCut = cuts && this.files === target?.name;
    this.cuts += 1;
    const { incarnation } = this;
    this.clock.after(this.chance.between(500, 15_000), () => {
      if (incarnation === this.incarnation) this.report(!this.isCut);
    });
    this.clock.after(this.chance.between(500, 10_000), () => {
      if (incarnation === this.incarnation) this.startWorker();
    });
  }

  /** Which deployment comes up, and what must not stay on disk under it. */
  private settleAtBoot(): void {
    const { journal } = this;
    if (journal === undefined) return;
    if (journal.goingBack !== undefined) {
      this.os = journal.previousOs;
      this.files = journal.previousFiles;
      return;
    }
    const undo = (because: string, again: boolean): void => {
      journal.goingBack = { because, again, ...(again ? {} : { failed: true }) };
      this.files = journal.previousFiles;
      this.staged = undefined;
    };
    if (journal.armed !== undefined) {
      if (journal.target.doesNotBoot && this.os !== journal.target.os) {
        undo('the new deployment did not come up', false);
      } else this.os = journal.target.os;
    } else if (!(journal.applied && !journal.reboots)) {
      undo('the machine rebooted by itself in the middle of it', true);
    }
  }

  /** Commit-confirm: whoever cannot be reached after the first boot on an update goes back by itself. */
  private watchContact(): void {
    const { journal, incarnation } = this;
    const from = this.clock.now;
    const isOpen = (): boolean =>
      this.journal === journal &&
      journal !== undefined &&
      hasStartedOn(journal, this.boot) &&
      !isDecided(journal, from);
    if (!isOpen()) return;
    // Counted from the boot, so that a process that dies again and again does not wait for ever.
    if (journal === undefined) return;
    // Whoever is verified had somebody in reach in this boot.
    const since = journal.verifiedIn === this.boot ? from : this.bootedAt;
    const until = since + secondsAway(journal) * 1000;
    this.clock.after(until - this.clock.now, () => {
      if (incarnation !== this.incarnation || this.isPolling() || !isOpen()) return;
      this.goBackWithBoot(journal);
    });
  }

  private startWorker(): void {
    if (!this.isUp || this.isDead) return;
    const { journal } = this;
    if (journal?.armed === this.boot && journal.goingBack === undefined) {
      // Armed, and the process died before it could act on it.
      this.reboot('update', journal.run);
      return;
    }
    if (this.isBootBackDue()) {
      this.reboot('back', journal?.run);
      return;
    }
    this.isWorking = true;
    this.wakeWaiting();
    this.watchContact();
    this.watchWord();
  }

  private stopWorker(): void {
    this.incarnation += 1;
    this.isWorking = false;
    this.turn = Promise.resolve();
    for (const attempt of this.attempts) attempt.die();
    this.attempts.clear();
  }

  private wakeWaiting(): void {
    if (!this.isPolling()) return;
    const { waiting } = this;
    this.waiting = [];
    for (const start of waiting) start();
  }
}
