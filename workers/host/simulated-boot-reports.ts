/**
 * What the kubelet of a simulated machine tells of its reboots. A real one posts its status whenever
 * it starts; here a report that is owed outlives the process, so that a machine whose process was
 * killed between its boot and the report does not stay not Ready for ever.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import type { SimulatedKubelet } from '../../adapters/simulation';
import { messageOf } from '../../core/errors';
import type { Logger } from '../../process/logging';
import { untilAvailable } from '../../process/until-available';

export interface BootReports {
  /** The machine of this boot goes down. A real kubelet has no last word either: it may go unheard. */
  down(bootId: string): Promise<void>;
  /** It has booted; resolves once that is heard, or a later reboot or the process' end overtook it. */
  up(bootId: string): Promise<void>;
  /**
   * Says what system the machine runs, and begins to tell what an earlier process owed; a machine that
   * has not booted since is still down. Resolves after one attempt: what is unheard is told later.
   */
  resume(bootId: string): Promise<void>;
}

export interface BootReportOptions {
  readonly node: string;
  readonly kubelet: SimulatedKubelet;
  /** Holds the boot that went down, as long as the API server has not heard of the next one. */
  readonly owedFile: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export function createBootReports(options: BootReportOptions): BootReports {
  const { node, kubelet, owedFile, log } = options;
  /** Ends the report that is on its way: a later boot has the last word. */
  let overtaken = new AbortController();
  let underWay: Promise<void> = Promise.resolve();

  async function report(bootId: string, signal: AbortSignal): Promise<void> {
    const tell = () => kubelet.reportUp(bootId);
    await untilAvailable(`API server for ${node}`, tell, { log, signal });
    if (!signal.aborted) await rm(owedFile, { force: true });
  }

  function up(bootId: string): Promise<void> {
    const signal = AbortSignal.any([options.signal, overtaken.signal]);
    underWay = report(bootId, signal).catch((error: unknown) => {
      if (!signal.aborted) log.error({ node, reason: messageOf(error) }, 'boot not reported');
    });
    return underWay;
  }

  async function system(): Promise<void> {
    const { signal } = options;
    const tell = () => kubelet.reportSystem();
    await untilAvailable(`API server for ${node}`, tell, { log, signal }).catch(
      (error: unknown) => {
        if (!signal.aborted) log.error({ node, reason: messageOf(error) }, 'system not reported');
      },
    );
  }

  return {
    async down(bootId) {
      overtaken.abort();
      await underWay;
      overtaken = new AbortController();
      await writeFile(owedFile, bootId);
      await kubelet.reportDown().catch((error: unknown) => {
        log.warn({ node, reason: messageOf(error) }, 'simulated reboot not reported');
      });
    },
    up,
    async resume(bootId) {
      const wentDown = await readIfThere(owedFile);
      if (wentDown !== '' && wentDown !== bootId) void up(bootId);
      else if (wentDown === '') await kubelet.reportSystem().catch(() => void system());
    },
  };
}

/** Empty when there is no such file, also of a process that was killed before it wrote into it. */
async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
