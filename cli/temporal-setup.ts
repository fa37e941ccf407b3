import type { Connection } from '@temporalio/client';
import { SearchAttributeType } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../core/errors';
import { missingInTemporal, STATUS, statusOf } from '../process/temporal/requirements';
import { SEARCH_ATTRIBUTE, SEARCH_ATTRIBUTE_NAMES } from '../workflows/contracts/search-attributes';
import { cliError, EXIT } from './exit-codes';
import type { CliTemporalSetup, SetupStep } from './ports';
import type { TemporalCalls } from './temporal-calls';

const DEFAULT_RETENTION_SECONDS = 7 * 86_400;
/** Each frontend of Temporal refreshes its list every few seconds. */
const USABLE_MS = 120_000;
const LOOK_MS = 500;

const ALREADY_EXISTS = 6;

/** PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED: these credentials may not create it. */
const NOT_ALLOWED: ReadonlySet<number | undefined> = new Set([7, 12, 16]);

/** The names are those of Temporal's CLI. */
const TYPES = [
  'Unspecified',
  'Text',
  'Keyword',
  'Int',
  'Double',
  'Bool',
  'Datetime',
  'KeywordList',
];
const NUMBER_OF: Readonly<Record<SearchAttributeType, number>> = {
  [SearchAttributeType.TEXT]: 1,
  [SearchAttributeType.KEYWORD]: 2,
  [SearchAttributeType.INT]: 3,
  [SearchAttributeType.DOUBLE]: 4,
  [SearchAttributeType.BOOL]: 5,
  [SearchAttributeType.DATETIME]: 6,
  [SearchAttributeType.KEYWORD_LIST]: 7,
};

/** By name; the client may give a number as a text. */
type SearchAttributeTypes = Awaited<
  ReturnType<Connection['operatorService']['listSearchAttributes']>
>['customAttributes'];

interface Target {
  readonly connection: Pick<Connection, 'workflowService' | 'operatorService' | 'withDeadline'>;
  readonly calls: TemporalCalls;
  readonly address: string;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

export function temporalSetup(target: Target): CliTemporalSetup {
  return {
    address: target.address,
    namespace: (retentionSeconds) => makeNamespace(target, retentionSeconds),
    searchAttributes: () => makeSearchAttributes(target),
  };
}

function ask<T>(target: Target, call: () => Promise<T>): Promise<T> {
  return target.calls.ofServer(() => orWhoMay(target, call));
}

/** Names the place when these credentials may not. */
async function orWhoMay<T>({ address, namespace }: Target, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!NOT_ALLOWED.has(statusOf(error))) throw error;
    const attributes = Object.values(SEARCH_ATTRIBUTE).map(
      ({ name, type }) => `--sa ${name}=${nameOf(NUMBER_OF[type])}`,
    );
    throw cliError(
      EXIT.FAILED,
      `Temporal at ${address} does not let these credentials make namespaces or search attributes ` +
        `(${messageOf(error)}); give it an administrator's --temporal-api-key or certificate. On Temporal ` +
        `Cloud, make the namespace ${namespace} in its web console, and run: tcld namespace ` +
        `search-attributes add --namespace ${namespace} ${attributes.join(' ')}; then run this again`,
    );
  }
}

async function makeNamespace(
  target: Target,
  retentionSeconds: number | undefined,
): Promise<SetupStep> {
  const { connection, namespace } = target;
  const what = `namespace ${namespace}`;
  const wanted = retentionSeconds ?? DEFAULT_RETENTION_SECONDS;
  const found = await ask(target, () => retentionOf(connection, namespace));
  if (found !== undefined) {
    if (retentionSeconds === undefined || retentionSeconds === found)
      return { what, did: 'exists', retentionSeconds: found };
    await ask(target, () =>
      connection.workflowService.updateNamespace({
        namespace,
        config: { workflowExecutionRetentionTtl: msToTs(retentionSeconds * 1000) },
      }),
    );
    return { what, did: 'changed', retentionSeconds };
  }
  const isNew = await unlessThere(target, () =>
    connection.workflowService.registerNamespace({
      namespace,
      description: 'Slipway: rollouts of node configuration',
      workflowExecutionRetentionPeriod: msToTs(wanted * 1000),
    }),
  );
  return { what, did: isNew ? 'created' : 'exists', retentionSeconds: wanted };
}

/** Undefined = no such namespace. */
async function retentionOf(
  connection: Target['connection'],
  namespace: string,
): Promise<number | undefined> {
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  } catch (error) {
    if (statusOf(error) === STATUS.NOT_FOUND) return undefined;
    throw error;
  }
}

async function makeSearchAttributes(target: Target): Promise<readonly SetupStep[]> {
  const { connection, namespace, address } = target;
  const keys = Object.values(SEARCH_ATTRIBUTE);
  const customAttributes = await untilSeen(target, () => ask(target, () => typesOf(target)));
  const wrong = keys.flatMap(({ name, type }) => {
    const found = customAttributes?.[name];
    if (found === undefined || Number(found) === NUMBER_OF[type]) return [];
    return [`${name} is of type ${nameOf(found)} and must be ${nameOf(NUMBER_OF[type])}`];
  });
  if (wrong.length > 0) {
    throw cliError(
      EXIT.FAILED,
      `search attributes of the namespace ${namespace} of Temporal at ${address} are of another type: ` +
        `${wrong.join(', ')}; give Slipway a namespace of its own with --temporal-namespace`,
    );
  }
  const steps: SetupStep[] = [];
  for (const { name, type } of keys) {
    const what = `search attribute ${name} (${nameOf(NUMBER_OF[type])})`;
    const isNew =
      customAttributes?.[name] === undefined &&
      (await unlessThere(target, () =>
        connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: { [name]: NUMBER_OF[type] },
        }),
      ));
    steps.push({ what, did: isNew ? 'created' : 'exists' });
  }
  await untilUsable(target);
  return steps;
}

/** Number of each type. Who may not list them, as on Temporal Cloud, still sees whether they can be used. */
async function typesOf({ connection, namespace }: Target): Promise<SearchAttributeTypes> {
  try {
    const { operatorService } = connection;
    return (await operatorService.listSearchAttributes({ namespace })).customAttributes;
  } catch (error) {
    if (!NOT_ALLOWED.has(statusOf(error))) throw error;
    const missing = await missingInTemporal(connection, namespace, SEARCH_ATTRIBUTE_NAMES);
    if (missing.length > 0) throw error;
    const keys = Object.values(SEARCH_ATTRIBUTE);
    return Object.fromEntries(keys.map(({ name, type }) => [name, NUMBER_OF[type]]));
  }
}

/** False = it exists by now. */
async function unlessThere(target: Target, make: () => Promise<unknown>): Promise<boolean> {
  return ask(target, async () => {
    try {
      await make();
      return true;
    } catch (error) {
      if (statusOf(error) === ALREADY_EXISTS) return false;
      throw error;
    }
  });
}

/** Not all frontends know a new namespace at once. */
async function untilSeen<T>({ signal }: Target, call: () => Promise<T>): Promise<T> {
  const until = Date.now() + USABLE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (statusOf(error) !== STATUS.NOT_FOUND || Date.now() > until) throw error;
    }
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function untilUsable(target: Target): Promise<void> {
  const { connection, namespace, address, signal } = target;
  const until = Date.now() + USABLE_MS;
  for (;;) {
    const missing = await ask(target, () =>
      missingInTemporal(connection, namespace, SEARCH_ATTRIBUTE_NAMES),
    );
    if (missing.length === 0) return;
    if (Date.now() > until) {
      throw cliError(
        EXIT.TIMED_OUT,
        `Temporal at ${address} does not know ${missing.join(', ')} yet; run it again`,
      );
    }
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

function nameOf(type: number): string {
  return TYPES[type] ?? `number ${type}`;
}
