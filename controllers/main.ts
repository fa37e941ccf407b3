/** The controllers in one process. Of several replicas only the leader writes. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { connectKube, type KubeClient } from '../adapters/kube/client';
import {
  absorbInto,
  runCaches,
  unsyncedKinds,
  whenCachesSynced,
} from '../adapters/kube/cluster-caches';
import { findMco } from '../adapters/kube/mco-presence';
import { MACHINE_CONFIGS, NAMESPACES, NODES } from '../adapters/kube/resources';
import { EventWriter } from '../adapters/kube/events';
import { shippedTemplates, WatchedTemplates } from '../adapters/templates';
import { fail, failureName } from '../core/errors';
import { FIELD_MANAGER } from '../core/names';
import { assignNodes } from '../core/pool/membership';
import { rfc3339 } from '../core/rfc3339';
import { startHealthServer } from '../process/health-server';
import { createLogger, type Logger } from '../process/logging';
import { untilAvailable } from '../process/until-available';
import { VERSION } from '../process/version';
import { whenAborted } from '../process/when-aborted';
import { CertificateController, TemporalCertificates } from './certificates';
import { containerRuntimeController } from './container-runtime';
import { createControllerCaches, type ControllerCaches } from './cluster-picture';
import { createEventRecorder, type EventRecorder } from './event-recorder';
import { fencedWriter } from './fenced-writer';
import { kubeletConfigController } from './kubelet-config';
import { runForLeader, type Leadership } from './leader';
import { MachineConfigurationController } from './machine-configuration';
import { createMetrics, type ControllerMetrics } from './metrics';
import { makePayloadKeys } from './payload-keys';
import { NodeController, TaintController } from './nodes';
import { OperatorStatusController } from './operator-status';
import { PoolStatusController } from './pool-status';
import { GarbageController, RenderController } from './render';
import {
  connectRollouts,
  RolloutController,
  type RolloutConnection,
  type RolloutGateway,
} from './rollout';
import { identityOf, type ControllerSettings } from './settings';
import { templateController } from './templates';

export interface ControllerParts {
  readonly log?: Logger;
  readonly gateway?: RolloutGateway;
  readonly onStarted?: (started: {
    readonly url: string;
    readonly metrics: ControllerMetrics;
  }) => void;
}

/**
 * Runs until the signal aborts; then releases the lease. Waits for absent servers.
 *
 * @throws `McoPresent` on a cluster that the Machine Config Operator manages
 * @throws an `Error` that says what is wrong with the kubeconfig, or which port is taken
 */
export async function runControllers(
  settings: ControllerSettings,
  signal: AbortSignal,
  parts: ControllerParts = {},
): Promise<void> {
  const log = parts.log ?? createLogger({ process: 'controllers', level: settings.logLevel });
  const { kubeconfig, context } = settings;
  const kube = await connectKube({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    environment: process.env,
    userAgent: `${FIELD_MANAGER.CONTROLLERS}/${VERSION}`,
    maxRequests: settings.maxKubeRequests,
    log,
  });
  const metrics = createMetrics();
  const caches = createControllerCaches(log);
  const rollouts =
    parts.gateway === undefined ? connectRollouts(settings, log) : withoutConnection(parts.gateway);
  const health = await startHealthServer({
    host: settings.metricsHost,
    port: settings.metricsPort,
    registry: metrics.registry,
    waitingFor: () => [
      ...unsyncedKinds(caches),
      ...(kube.isAway ? ['the Kubernetes API'] : []),
      ...rollouts.waitingFor(),
    ],
    deathSentence: () => rollouts.deathSentence(),
  });
  log.info({ server: kube.server, url: health.url, version: VERSION }, 'controllers started');
  parts.onStarted?.({ url: health.url, metrics });
  const failed = new AbortController();
  const running = AbortSignal.any([signal, failed.signal]);
  const watching = rollouts.watch(running);
  try {
    await refuseMco(kube, settings, { log, signal: running });
    const following = runCaches(caches, kube, running);
    await stand({ kube, caches, metrics, rollouts, log, settings, version: VERSION }, running);
    await following;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    failed.abort();
    await health.close();
    await watching;
    await rollouts.close();
    kube.close();
    log.info({}, 'controllers stopped');
  }
}

interface Standing {
  readonly kube: KubeClient;
  readonly caches: ControllerCaches;
  readonly metrics: ControllerMetrics;
  readonly rollouts: RolloutConnection;
  readonly log: Logger;
  readonly settings: ControllerSettings;
  readonly version: string;
}

/** The caches are filled first, so that a new leader acts at once. */
async function stand(standing: Standing, signal: AbortSignal): Promise<void> {
  const { kube, caches, settings, log } = standing;
  await Promise.race([whenCachesSynced(caches), whenAborted(signal)]);
  if (signal.aborted) return;
  await runForLeader(
    {
      api: kube,
      namespace: settings.namespace,
      name: settings.leaseName,
      identity: identityOf(settings, randomBytes(4).toString('hex')),
      leaseMs: settings.leaseSeconds * 1000,
      renewDeadlineMs: settings.renewDeadlineSeconds * 1000,
      retryMs: settings.leaseRetrySeconds * 1000,
      log,
      createNamespace: () => createNamespace(kube, settings.namespace),
    },
    (leadership) => lead(standing, leadership),
    signal,
  );
}

async function lead(standing: Standing, leadership: Leadership): Promise<void> {
  const leading = leadership.signal;
  const { kube, caches, metrics, rollouts, log, settings, version } = standing;
  const directory = settings.templatesDir ?? shippedTemplates();
  const folder = await WatchedTemplates.open(directory, leading, () =>
    log.info({ directory }, 'the templates have just changed; waiting until they are at rest'),
  );
  if (leading.aborted) return;
  const writer = fencedWriter(
    kube,
    (resource, object) => absorbInto(caches, resource, object),
    leadership,
  );
  const events = createEventRecorder(
    new EventWriter(kube, FIELD_MANAGER.CONTROLLERS),
    leading,
    log,
  );
  const now = (): string => rfc3339(new Date());
  const shared = { picture: caches, writer, events, metrics, now };
  const of = (controller: string): Logger => log.child({ controller });
  metrics.setLeader(true);
  const keysMade =
    settings.payloadKeys === undefined
      ? Promise.resolve()
      : makePayloadKeys({ kube, namespace: settings.namespace, log }, leading);
  const kubelets = kubeletConfigController(
    { ...shared, log: of('kubelet-config'), version },
    leading,
  );
  const runtimes = containerRuntimeController(
    { ...shared, log: of('container-runtime'), version },
    leading,
  );
  const templates = templateController(
    { ...shared, log: of('templates'), version },
    folder,
    leading,
  );
  const generating = [kubelets, runtimes];
  const certificates = new CertificateController(
    {
      ...{ source: kube, events, controllerConfigs: caches.controllerConfigs },
      writerWith: (absorb) => fencedWriter(kube, absorb, leadership),
      log: of('certificates'),
      namespace: settings.namespace,
      serverNames: settings.serverNames,
      issues: settings.issueCertificates,
    },
    leading,
  );
  const controllers = [
    ...temporalCertificates({ kube, events, log: of('certificates'), settings }, leadership),
    templates,
    ...generating,
    new RenderController(
      {
        ...shared,
        readConfig: (name) => kube.get(MACHINE_CONFIGS, { name }),
        log: of('render'),
        version,
        // The others merge into files of templates.
        settled: async () => {
          await templates.settled();
          await Promise.all(generating.map((one) => one.settled()));
        },
      },
      leading,
    ),
    new GarbageController(
      { ...shared, log: of('garbage'), keepRendered: settings.keepRendered },
      leading,
    ),
    new PoolStatusController(
      { ...shared, ownCertificates: certificates, log: of('pool-status') },
      leading,
    ),
    new NodeController(
      { ...shared, readNode: (name) => kube.get(NODES, { name }), log: of('nodes') },
      leading,
    ),
    new TaintController({ ...shared, log: of('nodes') }, leading),
    certificates,
    new MachineConfigurationController({ ...shared, log: of('machine-configuration') }, leading),
    new RolloutController({ ...shared, gateway: rollouts.gateway, log: of('rollout') }, leading),
    new OperatorStatusController(
      {
        ...{ source: kube, picture: caches, events, now, version, podName: hostname() },
        writerWith: (absorb) => fencedWriter(kube, absorb, leadership),
        rolloutsWaitFor: () => rollouts.waitingFor(),
        log: of('operator-status'),
        namespace: settings.namespace,
      },
      leading,
    ),
  ];
  await whenAborted(leading);
  metrics.setLeader(false);
  await Promise.all([keysMade, ...controllers.map((controller) => controller.idle())]);
  // The gauges would go stale; the next leader shows the pools.
  metrics.poolsObserved([], [], assignNodes([], []));
  metrics.certificatesObserved([]);
}

/** Those between the processes and Temporal, where Temporal is Slipway's own and asks for some. */
function temporalCertificates(
  {
    kube,
    events,
    log,
    settings,
  }: Pick<Standing, 'kube' | 'log' | 'settings'> & { readonly events: EventRecorder },
  leadership: Leadership,
): readonly TemporalCertificates[] {
  const { namespace, temporalCertificates: temporalNamespace, temporalTls } = settings;
  if (temporalNamespace === undefined || temporalTls === false) return [];
  const writerWith = (absorb: Parameters<typeof fencedWriter>[1]) =>
    fencedWriter(kube, absorb, leadership);
  const deps = { source: kube, writerWith, events, log, namespace, temporalNamespace };
  return [new TemporalCertificates(deps, leadership.signal)];
}

async function refuseMco(
  kube: KubeClient,
  settings: ControllerSettings,
  options: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const found = await untilAvailable(
    `Kubernetes API at ${kube.server}`,
    () => findMco(kube),
    options,
  );
  if (found === undefined) return;
  if (settings.allowMco) {
    options.log.warn({ found }, 'MCO runs on this cluster; starting because allowMco is set');
    return;
  }
  throw fail(
    'McoPresent',
    `the Machine Config Operator manages this cluster (found ${found}); two of them would fight over its nodes`,
  );
}

/** For development, where nothing is installed. */
async function createNamespace(kube: KubeClient, name: string): Promise<void> {
  try {
    await kube.create(NAMESPACES, { metadata: { name } });
  } catch (error) {
    if (failureName(error) !== 'Conflict') throw error;
  }
}

function withoutConnection(gateway: RolloutGateway): RolloutConnection {
  return {
    gateway,
    waitingFor: () => [],
    deathSentence: () => undefined,
    watch: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
