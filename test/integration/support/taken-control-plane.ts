/** The control plane of all files, as one of them has it. One file after the other: each finds it empty. */

import { readFileSync } from 'node:fs';
import type { ClusterProcess } from '../../../tools/cluster/control-plane';
import type { ClusterLayout } from '../../../tools/cluster/layout';
import { WHERE, type Hand, type WhereItIs } from './control-plane';

export interface TakenControlPlane {
  readonly layout: ClusterLayout;
  /** Nothing where it runs. */
  start(name: ClusterProcess): Promise<void>;
  /** As a crash does. */
  kill(name: ClusterProcess): Promise<void>;
  end(name: ClusterProcess): Promise<void>;
}

/** @throws Error where several files run at once: one would empty what the other has made */
export function takeControlPlane(): TakenControlPlane {
  const file = process.env[WHERE];
  if (file === undefined) throw new Error(`${WHERE} is not set: run it with jest`);
  // A process of jest that shares the files with others has a number.
  if (process.env['JEST_WORKER_ID'] !== '1') {
    throw new Error('integration runs one file after the other: add --runInBand');
  }
  const { layout, control } = JSON.parse(readFileSync(file, 'utf8')) as WhereItIs;
  const order = async (hand: Hand, name: ClusterProcess): Promise<void> => {
    const reply = await fetch(`${control}/${hand}/${name}`, { method: 'POST' });
    if (!reply.ok) throw new Error(`${hand} ${name}: ${await reply.text()}`);
  };
  return {
    layout,
    start: (name) => order('start', name),
    kill: (name) => order('kill', name),
    end: (name) => order('end', name),
  };
}
