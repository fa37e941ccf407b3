// Starts a cluster and a Temporal server, prints their process IDs and directories, and stays.
import { dirname } from 'node:path';
import { startCluster } from '../../../tools/cluster';
import { startTemporal } from '../../../tools/temporal';

async function main(): Promise<void> {
  const [cluster, temporal] = await Promise.all([startCluster(), startTemporal()]);
  const pids = [...cluster.processes().map(({ pid }) => pid), temporal.pid];
  const directories = [cluster.directory, dirname(temporal.logFile)];
  process.stdout.write(`${JSON.stringify({ pids, directories })}\n`);
  process.stdin.resume();
}

void main();
