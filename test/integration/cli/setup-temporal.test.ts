import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { setupTemporal } from '../../../cli/commands/setup-temporal';
import { openConnections } from '../../../cli/connections';
import { EXIT } from '../../../cli/exit-codes';
import { TemporalCalls } from '../../../cli/temporal-calls';
import { temporalSetup } from '../../../cli/temporal-setup';
import type { Terminal } from '../../../cli/terminal';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { missingInTemporal } from '../../../process/temporal/requirements';
import { SEARCH_ATTRIBUTE_NAMES } from '../../../workflows/contracts/search-attributes';

jest.setTimeout(180_000);

let server: TemporalServer;
let connection: Connection;

beforeAll(async () => {
  server = await startTemporal({ ui: false, namespace: 'other', searchAttributes: [] });
  connection = await Connection.connect({ address: server.address });
}, 300_000);

afterAll(async () => {
  await connection.close();
  await server.stop();
});

/** Runs the command on a namespace. @returns the printed lines */
async function setUp(temporalNamespace: string, retentionSeconds?: number) {
  const flags = { color: false, temporalAddress: server.address, temporalNamespace };
  const opened = openConnections(flags, {}, new AbortController().signal);
  let printed = '';
  const terminal = { out: { write: (text: string) => (printed += text) } } as unknown as Terminal;
  try {
    const { temporalSetup } = opened;
    expect(await setupTemporal({ terminal, temporalSetup }, retentionSeconds)).toBe(EXIT.OK);
  } finally {
    await opened.close();
  }
  return printed.trimEnd().split('\n');
}

it('makes the namespace and its search attributes, and the second time finds them', async () => {
  expect(await missingInTemporal(connection, 'slipway', SEARCH_ATTRIBUTE_NAMES)).toEqual([
    'the namespace slipway',
  ]);

  expect(await setUp('slipway')).toEqual([
    'namespace slipway: created, keeps workflows for 7d0h after their end',
    'search attribute SlipwayPool (Keyword): created',
    'search attribute SlipwayNode (Keyword): created',
    'search attribute SlipwayConfig (Keyword): created',
    'search attribute SlipwayOutcome (Keyword): created',
    `Temporal at ${server.address} has what Slipway needs`,
  ]);
  expect(await missingInTemporal(connection, 'slipway', SEARCH_ATTRIBUTE_NAMES)).toEqual([]);

  expect((await setUp('slipway')).slice(0, 2)).toEqual([
    'namespace slipway: exists, keeps workflows for 7d0h after their end',
    'search attribute SlipwayPool (Keyword): exists',
  ]);
  expect((await setUp('slipway', 172_800))[0]).toBe(
    'namespace slipway: changed, keeps workflows for 2d0h after their end',
  );
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'slipway' });
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(172_800);
});

describe('with credentials that may not list or make search attributes, as on Temporal Cloud', () => {
  const refusal = Object.assign(new Error('7 PERMISSION_DENIED: Request unauthorized.'), {
    code: 7,
  });
  const setUpOf = (namespace: string) => {
    const { signal } = new AbortController();
    const { address } = server;
    const operatorService = { listSearchAttributes: () => Promise.reject(refusal) };
    const limited = Object.assign(Object.create(connection) as Connection, { operatorService });
    const calls = new TemporalCalls({ connection, address, namespace, signal });
    return temporalSetup({ connection: limited, calls, address, namespace, signal });
  };

  it('finds what somebody has made', async () => {
    await setUp('made');

    expect(await setUpOf('made').searchAttributes()).toContainEqual({
      what: 'search attribute SlipwayPool (Keyword)',
      did: 'exists',
    });
  });

  it('says the command that makes them', async () => {
    await connection.workflowService.registerNamespace({
      namespace: 'cloud',
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });

    await expect(setUpOf('cloud').searchAttributes()).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message: expect.stringContaining(
        'tcld namespace search-attributes add --namespace cloud --sa SlipwayPool=Keyword --sa SlipwayNode=Keyword',
      ) as unknown,
    });
  });
});

it('makes what is missing beside what is there, and refuses another type', async () => {
  const add = (name: string, type: number) =>
    connection.operatorService.addSearchAttributes({
      namespace: server.namespace,
      searchAttributes: { [name]: type },
    });
  await add('SlipwayNode', 2);
  expect((await setUp('other')).slice(1, 3)).toEqual([
    'search attribute SlipwayPool (Keyword): created',
    'search attribute SlipwayNode (Keyword): exists',
  ]);

  await connection.operatorService.removeSearchAttributes({
    namespace: server.namespace,
    searchAttributes: ['SlipwayPool'],
  });
  await add('SlipwayPool', 3);
  await expect(setUp('other')).rejects.toMatchObject({
    exitCode: EXIT.FAILED,
    message: expect.stringMatching(/SlipwayPool is of type Int and must be Keyword/) as unknown,
  });
});
