import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SimulatedKubelet } from '../../../../adapters/simulation';
import { fail } from '../../../../core/errors';
import {
  type BootReports,
  createBootReports,
} from '../../../../workers/host/simulated-boot-reports';
import { createLogger } from '../../../../process/logging';

let directory: string;
let owedFile: string;
let process: AbortController;
let isAway: boolean;
let told: string[];
/** Called after each report, answered or not. */
let onReport: () => void;

const kubelet: SimulatedKubelet = {
  reportDown: () => tell('down'),
  reportUp: (bootId) => tell(`up ${bootId}`),
  reportSystem: () => tell('system'),
};

function tell(what: string): Promise<void> {
  if (!isAway) told.push(what);
  setImmediate(onReport);
  return isAway ? Promise.reject(fail('ApiUnavailable', 'away')) : Promise.resolve();
}

function nextReport(): Promise<void> {
  return new Promise((resolve) => {
    onReport = resolve;
  });
}

function startProcess(): BootReports {
  process = new AbortController();
  const log = createLogger({ process: 'test', level: 'silent' });
  return createBootReports({ node: 'n1', kubelet, owedFile, signal: process.signal, log });
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-boots-'));
  owedFile = join(directory, '.n1.down');
  isAway = false;
  told = [];
  onReport = () => undefined;
});

afterEach(() => {
  process.abort();
  rmSync(directory, { recursive: true });
});

test('a reboot is told, and nothing is owed afterwards', async () => {
  const reports = startProcess();
  await reports.down('b1');
  expect(existsSync(owedFile)).toBe(true);
  await reports.up('b2');
  expect(told).toEqual(['down', 'up b2']);
  expect(existsSync(owedFile)).toBe(false);
});

test('a process says what system its machine runs, also when nobody hears it at first', async () => {
  await startProcess().resume('b1');
  expect(told).toEqual(['system']);
  expect(existsSync(owedFile)).toBe(false);

  isAway = true;
  await startProcess().resume('b1');
  isAway = false;
  await nextReport();
  expect(told).toEqual(['system', 'system']);
});

test('a boot that no process lived to tell is told by the next one', async () => {
  const first = startProcess();
  await first.down('b1');
  isAway = true;
  const unheard = nextReport();
  const overtaken = first.up('b2');
  await unheard;
  process.abort();
  await overtaken;

  isAway = false;
  const reported = nextReport();
  await startProcess().resume('b2');
  await reported;
  expect(told).toEqual(['down', 'up b2']);
});

test('a machine that has not booted yet is still down for the next process', async () => {
  await startProcess().down('b1');
  await startProcess().resume('b1');
  expect(told).toEqual(['down']);
  expect(existsSync(owedFile)).toBe(true);
});

test('a machine that goes down again takes back what it has not told', async () => {
  const reports = startProcess();
  isAway = true;
  const unheard = nextReport();
  const overtaken = reports.up('b2');
  await unheard;
  isAway = false;
  await reports.down('b1');
  await Promise.all([overtaken, reports.up('b3')]);
  expect(told).toEqual(['down', 'up b3']);
});
