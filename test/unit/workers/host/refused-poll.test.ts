/** The real worker of the SDK, at a gateway in front of a Temporal of functions. */

import { readFileSync } from 'node:fs';
import { NativeConnection } from '@temporalio/worker';
import { createExclusive } from '../../../../host/exclusive';
import { createLimit } from '../../../../core/concurrency-limit';
import { createLogger } from '../../../../process/logging';
import { installTemporalRuntime } from '../../../../process/temporal/runtime';
import { runHost } from '../../../../workers/host/loop';
import { TEST_KEY } from '../../../support/signed-orders';
import { aHost, type TestHost } from '../../host/a-host';
import { gatewayHere, NAMESPACE, type GatewayHere } from '../../server/gateway/gateway-here';

const log = createLogger({ process: 'test', level: 'silent' });

let here: GatewayHere;
let machine: TestHost;
afterEach(async () => {
  machine.remove();
  await here.stop();
});

test('a worker whose poll was refused for good is replaced', async () => {
  installTemporalRuntime(log);
  let polls = 0;
  let again = (): void => undefined;
  const polledAgain = new Promise<void>((resolve) => (again = resolve));
  here = await gatewayHere({
    getSystemInfo: async () => ({ capabilities: {} }),
    describeNamespace: async () => ({ namespaceInfo: { name: NAMESPACE } }),
    async pollActivityTaskQueue(_request, signal) {
      polls += 1;
      // The SDK does not repeat a call that was refused in these words.
      const details = 'grpc: received message larger than max';
      if (polls === 1) throw Object.assign(new Error(details), { code: 8, details });
      again();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw Object.assign(new Error('cancelled'), { code: 1 });
    },
    shutdownWorker: async () => ({}),
  });
  const files = await here.filesOf('worker-1');
  const connection = await NativeConnection.connect({
    address: new URL(here.url).host,
    tls: {
      serverRootCACertificate: readFileSync(files.caFile),
      clientCertPair: { crt: readFileSync(files.certFile), key: readFileSync(files.keyFile) },
    },
  });
  machine = await aHost([]);
  const stop = new AbortController();

  const running = runHost(
    {
      node: 'worker-1',
      identity: 'test',
      keyring: { known: async () => TEST_KEY.keys, learn: async () => TEST_KEY.keys },
      exclusive: createExclusive(),
      ports: await machine.ports(),
      reboot: async () => undefined,
    },
    {
      link: { connection, follow: () => () => undefined, untilSetUp: async () => undefined },
      namespace: NAMESPACE,
      signal: stop.signal,
      log,
      limit: createLimit(1),
    },
  );
  await polledAgain;
  stop.abort();
  await running;
  await connection.close();

  expect(polls).toBeGreaterThan(1);
});
