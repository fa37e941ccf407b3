/** `slipway rollout start|pause|resume|cancel POOL`. */

import type { MachineConfigPool } from '../../core/pool/types';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { formatAge } from '../durations';
import type { WatchOptions } from '../options';
import type { OutputFormat } from '../output';
import { printData, printListing } from '../output';
import { awaitAnswer, WORKER } from '../await-answer';
import type { CliContext, ClusterView, RolloutRecord } from '../ports';

/** Or the exit that names the existing pools. */
export function findPool(view: ClusterView, name: string): MachineConfigPool {
  const pool = view.pools.find((candidate) => candidate.metadata.name === name);
  if (pool !== undefined) return pool;
  const names = view.pools.map((candidate) => candidate.metadata.name).join(', ');
  throw cliError(
    EXIT.NOT_FOUND,
    `pool ${name} not found; ${names === '' ? 'the cluster has no pools' : `there are: ${names}`}`,
  );
}

/** Or wakes the running rollout; lifts an earlier `rollout cancel`. */
export async function rolloutStart(
  context: CliContext,
  poolName: string,
  options: WatchOptions,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const pool = findPool(await cluster.read(), poolName);
  const config = pool.spec.configuration?.name;
  if (config === undefined) {
    throw cliError(
      EXIT.FAILED,
      `pool ${poolName} has no rendered config yet; see its RenderDegraded condition: kubectl get mcp ${poolName} -o yaml`,
    );
  }
  const temporal = await context.temporal();
  const answer = await awaitAnswer(context, WORKER, temporal.start(poolName));
  const runs = answer.ended === undefined ? 'runs' : 'has ended';
  const paused =
    pool.spec.paused === true
      ? `the pool is paused, so no node starts: slipway rollout resume ${poolName}\n`
      : '';
  const hint = options.watch ? '' : `watch it: slipway rollout status ${poolName} --watch\n`;
  context.terminal.err.write(
    `pool-rollout/${poolName} ${runs}: ${answer.updated} nodes on ${config}\n${paused}${hint}`,
  );
  if (!options.watch) printMachineReadable(context, options.output, answer);
  return EXIT.OK;
}

/** Running updates finish, no other starts. Needs no running rollout. */
export async function rolloutPause(
  context: CliContext,
  poolName: string,
  reason: string,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const pool = findPool(await cluster.read(), poolName);
  if (pool.spec.paused === true) {
    context.terminal.err.write(`pool ${poolName} is paused already\n`);
    return EXIT.OK;
  }
  const temporal = await context.temporal();
  const answer = await awaitAnswer(context, WORKER, temporal.pause(poolName, reason));
  if (answer === undefined)
    await cluster.setPaused(poolName, true, { reason, ...(await by(context)) });
  const blocker = answer?.blocker === undefined ? '' : `${answer.blocker}\n`;
  context.terminal.err.write(`pool ${poolName} paused\n${blocker}`);
  return EXIT.OK;
}

export async function rolloutResume(
  context: CliContext,
  poolName: string,
  reason: string,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const pool = findPool(await cluster.read(), poolName);
  if (pool.spec.paused !== true) {
    context.terminal.err.write(`pool ${poolName} is not paused\n`);
    return EXIT.OK;
  }
  const temporal = await context.temporal();
  const answer = await awaitAnswer(context, WORKER, temporal.resume(poolName, reason));
  if (answer === undefined)
    await cluster.setPaused(poolName, false, { reason, ...(await by(context)) });
  context.terminal.err.write(`pool ${poolName} resumed\n`);
  return EXIT.OK;
}

async function by(context: CliContext): Promise<{ readonly by?: string }> {
  const user = await context.user();
  return user === undefined ? {} : { by: user };
}

/** Nodes before their reboot are undone, the others finish. */
export async function rolloutCancel(context: CliContext, poolName: string): Promise<ExitCode> {
  const cluster = await context.cluster();
  findPool(await cluster.read(), poolName);
  const cancelled = await (await context.temporal()).cancel(poolName);
  if (!cancelled) throw cliError(EXIT.NOT_FOUND, `no rollout of pool ${poolName} runs`);
  context.terminal.err.write(
    `rollout of pool ${poolName} is being cancelled: nodes before their reboot are undone, the others finish\n` +
      `start it again: slipway rollout start ${poolName}\n`,
  );
  return EXIT.OK;
}

export function printRollouts(
  context: CliContext,
  records: readonly RolloutRecord[],
  output: OutputFormat,
): void {
  const took = (record: RolloutRecord) =>
    formatAge(
      record.startedAt,
      record.endedAt === undefined ? context.now() : Date.parse(record.endedAt),
    );
  printListing<RolloutRecord>(
    {
      columns: [
        { header: 'POOL', value: (record) => record.pool },
        { header: 'STATUS', value: (record) => record.status },
        { header: 'CONFIG', value: (record) => record.config ?? '' },
        {
          header: 'STARTED',
          value: (record) => `${formatAge(record.startedAt, context.now())} ago`,
        },
        { header: 'TOOK', value: took },
        { header: 'RUN', wide: true, value: (record) => record.runId },
      ],
      rows: records,
      data: (record) => record,
      empty: 'no rollouts found',
    },
    output,
    context.terminal,
  );
}

/** False for the forms for people. */
export function printMachineReadable(
  context: CliContext,
  output: OutputFormat,
  data: unknown,
): boolean {
  if (output !== 'json' && output !== 'yaml') return false;
  printData(data, output, context.terminal);
  return true;
}
