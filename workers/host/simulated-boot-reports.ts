/**
 * The kubelet's reports of a simulated machine's reboots. An unsent report outlives the process, so
 * that a Node whose process was killed after the boot does not stay not Ready.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import type { SimulatedKubelet } from '../../adapters/simulation';
import { messageOf } from '../../core/errors';
import type { Logger } from '../../process/logging';
import { untilAvailable } from '../../process/until-available';

export interface BootReports {
  /** The report may fail, as with a real kubelet. */
  down(bootId: string): Promise<void>;
  /**
   * Resolves once the boot is reported, or a later reboot or the end of the process has overtaken
   * the report.
   */
  up(bootId: string): Promise<void>;
  /**
   * Reports the machine's system, and an unsent report of an earlier process. Resolves after one
   * attempt; failed reports are repeated later.
   */
  resume(bootId: string): Promise<void>;
}

interface BootReportOptions {
  readonly node: string;
  readonly kubelet: SimulatedKubelet;
  /** Holds the boot that went down, until the next one is reported. */
  readonly owedFile: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export function createBootReports(options: BootReportOptions): BootReports {
  const { node, kubelet, owedFile, log } = options;
  /** Ends the report in progress. */
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

/** Empty when nothing was written. */
async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
