// Starts Temporal on PostgreSQL, prints process IDs and directories, and stays.
import { dirname } from 'node:path';
import { startTemporalOnPostgres } from '../../../tools/temporal-postgres';

async function main(): Promise<void> {
  const temporal = await startTemporalOnPostgres();
  const { postgres } = temporal;
  const pids = [postgres.pid, temporal.pid];
  const directories = [dirname(postgres.logFile), dirname(temporal.logFile)];
  process.stdout.write(`${JSON.stringify({ pids, directories })}\n`);
  process.stdin.resume();
}

void main();
