/**
 * The structs inside a KubeletConfiguration.
 *
 * @see k8s.io/kubelet/config/v1beta1, k8s.io/component-base/logs/api/v1,
 * k8s.io/component-base/tracing/api/v1, k8s.io/api/core/v1 (v0.36.2)
 */

import {
  always,
  BOOL,
  DURATION,
  embedded,
  field,
  INT32,
  INT64,
  listOf,
  mapOf,
  named,
  pointer,
  QUANTITY,
  STRING,
  struct,
  type GoType,
} from './schema-types';

export const AUTHENTICATION = struct('v1beta1.KubeletAuthentication', [
  always('x509', struct('v1beta1.KubeletX509Authentication', [field('clientCAFile', STRING)])),
  always(
    'webhook',
    struct('v1beta1.KubeletWebhookAuthentication', [
      pointer('enabled', BOOL),
      field('cacheTTL', DURATION),
    ]),
  ),
  always('anonymous', struct('v1beta1.KubeletAnonymousAuthentication', [pointer('enabled', BOOL)])),
]);

export const AUTHORIZATION = struct('v1beta1.KubeletAuthorization', [
  field('mode', named('v1beta1.KubeletAuthorizationMode')),
  always(
    'webhook',
    struct('v1beta1.KubeletWebhookAuthorization', [
      field('cacheAuthorizedTTL', DURATION),
      field('cacheUnauthorizedTTL', DURATION),
    ]),
  ),
]);

export const MEMORY_SWAP = struct('v1beta1.MemorySwapConfiguration', [
  field('swapBehavior', STRING),
]);

export const CRASH_LOOP_BACK_OFF = struct('v1beta1.CrashLoopBackOffConfig', [
  pointer('maxContainerRestartPeriod', DURATION),
]);

export const MEMORY_RESERVATION = struct('v1beta1.MemoryReservation', [
  always('numaNode', INT32),
  always('limits', mapOf(QUANTITY, 'v1.ResourceList')),
]);

export const SHUTDOWN_BY_PRIORITY = struct('v1beta1.ShutdownGracePeriodByPodPriority', [
  always('priority', INT32),
  always('shutdownGracePeriodSeconds', INT64),
]);

export const TAINT = struct('v1.Taint', [
  always('key', STRING),
  field('value', STRING),
  always('effect', named('v1.TaintEffect')),
  pointer('timeAdded', { kind: 'time' }),
]);

export const TRACING = struct('v1.TracingConfiguration', [
  pointer('endpoint', STRING),
  pointer('samplingRatePerMillion', INT32),
]);

export const USER_NAMESPACES = struct('v1beta1.UserNamespaces', [pointer('idsPerPod', INT64)]);

const VERBOSITY: GoType = { kind: 'int', go: 'v1.VerbosityLevel', bits: 32, signed: false };

const VMODULE_ITEM = struct('v1.VModuleItem', [
  always('filePattern', STRING),
  always('verbosity', VERBOSITY),
]);

const OUTPUT_ROUTING = embedded('OutputRoutingOptions', [
  field('splitStream', BOOL),
  // Quantities are structs, so that omitempty does not omit them.
  field('infoBufferSize', QUANTITY),
]);

export const LOGGING = struct('v1.LoggingConfiguration', [
  field('format', STRING),
  always('flushFrequency', { kind: 'time-or-duration' }),
  always('verbosity', VERBOSITY),
  field('vmodule', listOf(VMODULE_ITEM, 'v1.VModuleConfiguration')),
  field(
    'options',
    struct('v1.FormatOptions', [
      field('text', struct('v1.TextOptions', OUTPUT_ROUTING)),
      field('json', struct('v1.JSONOptions', OUTPUT_ROUTING)),
    ]),
  ),
]);
