/** An admission webhook holds the API server's answer to a cordon. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { World } from '../../e2e/support/world';

export interface HeldCordon {
  readonly came: Promise<string>;
  /** Answers all held reviews and holds no more. */
  letGo(): Promise<void>;
}

interface Review {
  readonly request: { readonly uid: string; readonly name: string };
}

const NAME = 'held-cordon.test.slipway.dev';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** The maximum in Kubernetes, and the time limit of a cordon. */
const HELD_SECONDS = 30;

/** Other writes of the cluster worker pass. */
export async function holdCordons(world: Pick<World, 'api' | 'stack'>): Promise<HeldCordon> {
  let letGo = (): void => undefined;
  const goesOn = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let tell: (node: string) => void = () => undefined;
  const came = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const files = await world.stack.cluster.serverCertificate('held-cordon', ['127.0.0.1']);
  const server = createServer(
    { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) },
    (request, response) => {
      void reviewIn(request).then(async ({ uid, name }) => {
        tell(name);
        await goesOn;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(allowed(uid)));
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await world.api.call('POST', WEBHOOKS, webhook(server, readFileSync(files.caFile)));
  let isOpen = false;
  return {
    came,
    letGo: async () => {
      if (isOpen) return;
      isOpen = true;
      letGo();
      await world.api.call('DELETE', `${WEBHOOKS}/${NAME}`);
      // Reviews in progress are answered first.
      server.close();
    },
  };
}

async function reviewIn(request: IncomingMessage): Promise<Review['request']> {
  return (JSON.parse(await text(request)) as Review).request;
}

function allowed(uid: string) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid, allowed: true },
  };
}

const IS_CORDONED = (node: string) =>
  `(has(${node}.spec.unschedulable) && ${node}.spec.unschedulable)`;

function webhook(server: Server, authority: Buffer) {
  const { port } = server.address() as AddressInfo;
  const matchConditions = [
    { name: 'by-slipway', expression: "request.userInfo.username == 'slipway-cluster-worker'" },
    {
      name: 'is-a-cordon',
      expression: `${IS_CORDONED('object')} && !${IS_CORDONED('oldObject')}`,
    },
  ];
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['UPDATE'],
    resources: ['nodes'],
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: NAME },
    webhooks: [
      {
        name: NAME,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        // A late release gets an update that is not held, and fails.
        failurePolicy: 'Ignore',
        timeoutSeconds: HELD_SECONDS,
        rules: [rule],
        matchConditions,
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: authority.toString('base64'),
        },
      },
    ],
  };
}
