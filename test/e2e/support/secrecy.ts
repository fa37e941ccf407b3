/** What is in a config is told to nobody but its host: neither in Temporal, nor in logs, Events, status or errors. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { isRecord } from '../../../core/is-record';
import { withOpenPayloads } from '../../../process/temporal/open-payloads';
import { isSealed } from '../../../process/temporal/payload-codec';
import { withTemporalClient } from '../../../tools/temporal';
import type { World } from './world';

/** As it may be written anywhere: in base64 at each offset, too. */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const shifted = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    // The characters at both ends also depend on what is beside it.
    return text.slice(shift === 0 ? 0 : shift + 1, -4);
  });
  const web = shifted.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [
    ...new Set([secret, encodeURIComponent(secret), bytes.toString('hex'), ...shifted, ...web]),
  ];
}

/** Names of the places where one of the secrets is. */
export function placesOf(
  secrets: readonly string[],
  places: ReadonlyMap<string, string>,
): readonly string[] {
  const forms = secrets.flatMap(formsOf);
  return [...places].flatMap(([name, text]) =>
    forms.some((it) => text.includes(it)) ? [name] : [],
  );
}

/** Everything that people and other machines may see, by where they see it. */
export async function toldBy(world: Pick<World, 'api' | 'stack'>): Promise<Map<string, string>> {
  return new Map([
    ...(await inTemporal(world)).told,
    ...inLogs(world),
    ...(await inCluster(world)),
  ]);
}

const OBJECTS = [
  '/api/v1/events',
  '/api/v1/nodes',
  '/api/v1/configmaps',
  '/apis/machineconfiguration.openshift.io/v1/machineconfigpools',
  '/apis/machineconfiguration.openshift.io/v1/machineconfignodes',
  '/apis/slipway.dev/v1alpha1/poolrollouts',
  '/apis/slipway.dev/v1alpha1/slipways',
];

async function inCluster({ api }: Pick<World, 'api'>): Promise<readonly [string, string][]> {
  return Promise.all(
    OBJECTS.map(async (path): Promise<[string, string]> => [
      path,
      (await api.send('GET', path)).text,
    ]),
  );
}

function inLogs({ stack }: Pick<World, 'stack'>): readonly [string, string][] {
  const directory = dirname(stack.product.logFile('server'));
  return readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]);
}

/**
 * Each workflow as Temporal has it, and as who has the keys reads it.
 *
 * @returns also the payloads that are readable in Temporal, by their workflow
 */
export async function inTemporal({ stack }: Pick<World, 'stack'>): Promise<{
  readonly told: readonly [string, string][];
  readonly readable: readonly string[];
}> {
  const told: [string, string][] = [];
  const readable: string[] = [];
  const read = async (client: Client): Promise<void> => {
    const { payloadCodecs } = client.options.loadedDataConverter;
    for await (const { workflowId, runId, raw } of client.workflow.list()) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      const seen = { raw, events };
      const name = `${workflowId} ${runId}`;
      told.push([name, textOf(seen)]);
      told.push([`${name}, decoded`, textOf(await withOpenPayloads(seen, payloadCodecs))]);
      readable.push(...readableIn(seen).map((text) => `${name}: ${text}`));
    }
  };
  await withTemporalClient(stack.temporal, read);
  return { told, readable };
}

/** All texts, and all bytes as texts. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textOf).join('\n');
}

/**
 * Temporal has to know search attributes, its own failures, such as timeouts, have a message of its own, and the SDK
 * notes name, attempt and times of local activities, past any codec.
 */
function readableIn(value: unknown, field = ''): readonly string[] {
  if (field === 'searchAttributes' || value instanceof Uint8Array) return [];
  if (Array.isArray(value)) return value.flatMap((one) => readableIn(one, field));
  if (!isRecord(value)) return [];
  if (value['markerName'] === 'core_local_activity') {
    const details = { ...(value['details'] as object), data: null };
    return readableIn({ ...value, markerName: '', details });
  }
  if (isPayload(value)) return isSealed(value) ? [] : [`${field}: ${textOf(value)}`];
  const isFailure = value['source'] === 'TypeScriptSDK' && 'message' in value;
  const message = isFailure && value['message'] !== 'Encoded failure' ? [textOf(value)] : [];
  const inner = Object.entries(value).flatMap(([name, one]) => readableIn(one, name));
  return [...message, ...inner];
}

function isPayload(value: Readonly<Record<string, unknown>>): value is Payload & typeof value {
  return isRecord(value['metadata']) && value['data'] instanceof Uint8Array;
}
