/** `slipway support-bundle`: what is reachable goes in, what is not is named. */

import { resolve } from 'node:path';
import type { KubeClient } from '../../adapters/kube/client';
import { messageOf } from '../../core/errors';
import { cliError, EXIT, type ExitCode } from '../exit-codes';
import { createArchive } from '../support/archive';
import { Bundle } from '../support/bundle';
import { collectKubernetes, type Period } from '../support/kubernetes';
import { collectTemporal, type SupportTemporal } from '../support/temporal';
import type { CliContext } from '../ports';
import { VERSION } from '../../process/version';
import { findingsInWords, findingsOf } from './doctor';

interface BundleOptions {
  /** Default: a new name in the current directory. */
  readonly file?: string;
  readonly sinceSeconds: number;
  readonly limitBytes: number;
}

/** Exits with 9 when neither Kubernetes nor Temporal answers; the file is there also then. */
export async function supportBundle(
  context: CliContext,
  options: BundleOptions,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const createdAt = new Date(context.now()).toISOString();
  const file = resolve(options.file ?? `slipway-support-${createdAt.replace(/[:.]/g, '-')}.tar.gz`);
  const archive = await createArchive(file, options.limitBytes);
  try {
    const bundle = new Bundle(archive);
    const isReached = await fill(bundle, context, {
      ...{ sinceSeconds: options.sinceSeconds, nowMs: context.now() },
    });
    if (signal.aborted) throw cliError(EXIT.FAILED, 'interrupted; no bundle was written');
    const bytes = await bundle.end({
      ...{ command: 'slipway support-bundle', version: VERSION, createdAt },
      ...{ sinceSeconds: options.sinceSeconds, limitBytes: options.limitBytes },
    });
    bundle.summarize(terminal, bytes);
    terminal.out.write(`${file}\n`);
    return isReached ? EXIT.OK : EXIT.UNREACHABLE;
  } catch (error) {
    await archive.discard();
    throw error;
  }
}

/** @returns whether Kubernetes or Temporal answered */
async function fill(bundle: Bundle, context: CliContext, period: Period): Promise<boolean> {
  const { signal } = context;
  const kube = await reached(bundle, 'everything in Kubernetes', () => openKube(context));
  const temporal = await reached(bundle, 'everything in Temporal', () => openTemporal(context));
  await bundle.json('versions.json', {
    ...{ slipway: VERSION, node: process.version, platform: `${process.platform} ${process.arch}` },
    ...{ kubernetes: kube?.version, temporal: temporal?.version },
  });
  await bundle.collect('findings of the doctor', async () => {
    const findings = await findingsOf(context);
    await bundle.text('doctor.txt', findingsInWords(findings));
    await bundle.json('doctor.json', findings);
  });
  if (kube !== undefined) await collectKubernetes(kube.client, bundle, period, signal);
  if (temporal !== undefined) await collectTemporal(temporal, bundle, period);
  return kube !== undefined || temporal !== undefined;
}

async function openKube(context: CliContext): Promise<{ client: KubeClient; version: unknown }> {
  const client = await context.support.kube();
  return { client, version: JSON.parse(await client.text('/version')) as unknown };
}

async function openTemporal(
  context: CliContext,
): Promise<SupportTemporal & { readonly version: string }> {
  const temporal = await context.support.temporal();
  const { client, calls } = temporal;
  const { serverVersion } = await calls.ofServer(() => client.workflowService.getSystemInfo({}));
  return { ...temporal, version: serverVersion };
}

async function reached<T>(
  bundle: Bundle,
  what: string,
  open: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await open();
  } catch (error) {
    bundle.leaveOut(what, messageOf(error));
    return undefined;
  }
}
