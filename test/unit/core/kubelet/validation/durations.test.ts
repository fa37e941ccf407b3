import { judged } from './judged';

const DURATIONS = [
  ...['syncFrequency', 'fileCheckFrequency', 'httpCheckFrequency', 'runtimeRequestTimeout'],
  ...['streamingConnectionIdleTimeout', 'nodeStatusUpdateFrequency', 'nodeStatusReportFrequency'],
  ...[
    'imageMinimumGCAge',
    'imageMaximumGCAge',
    'volumeStatsAggPeriod',
    'cpuManagerReconcilePeriod',
  ],
  ...['evictionPressureTransitionPeriod', 'shutdownGracePeriod'],
];

judged(
  DURATIONS.map((field) => ({
    about: `a ${field} without a unit`,
    refused: { [field]: '300' },
    at: field,
    says: 'is "300", which is no duration',
    fix: 'write a number with a unit, such as 30s, 5m or 1h30m',
    accepted: { [field]: '300s' },
  })),
);

judged([
  ...['syncFrequency', 'runtimeRequestTimeout', 'imageMinimumGCAge', 'imageMaximumGCAge'].map(
    (field) => ({
      about: `a negative ${field}`,
      refused: { [field]: '-1ns' },
      at: field,
      says: 'is "-1ns", which is negative',
      accepted: { [field]: '0s' },
    }),
  ),
  {
    about: 'a duration of authentication without a unit',
    refused: { authentication: { webhook: { cacheTTL: '5' } } },
    at: 'authentication.webhook.cacheTTL',
    says: 'is "5", which is no duration',
    accepted: { authentication: { webhook: { cacheTTL: '5s' } } },
  },
  {
    about: 'a duration of authorization without a unit',
    refused: { authorization: { webhook: { cacheAuthorizedTTL: '5' } } },
    at: 'authorization.webhook.cacheAuthorizedTTL',
    says: 'is "5", which is no duration',
    accepted: { authorization: { webhook: { cacheUnauthorizedTTL: '5s' } } },
  },
  {
    about: 'a greatest age of images that is not above the least one by default',
    refused: { imageMaximumGCAge: '2m' },
    at: 'imageMaximumGCAge',
    says: 'is "2m", not above imageMinimumGCAge (2m)',
    accepted: { imageMaximumGCAge: '2m0.000000001s' },
  },
  {
    about: 'a greatest age of images that is not above the written least one',
    refused: { imageMaximumGCAge: '1h', imageMinimumGCAge: '60m' },
    at: 'imageMaximumGCAge',
    says: 'is "1h", not above imageMinimumGCAge (60m)',
    accepted: { imageMaximumGCAge: '1h', imageMinimumGCAge: '59m' },
  },
  {
    about: 'a short period of CPU quota',
    refused: { cpuCFSQuotaPeriod: '999us' },
    at: 'cpuCFSQuotaPeriod',
    says: 'is "999us", outside of 1ms to 1s',
    accepted: { cpuCFSQuotaPeriod: '1ms' },
  },
  {
    about: 'a long period of CPU quota',
    refused: { cpuCFSQuotaPeriod: '1.000000001s' },
    at: 'cpuCFSQuotaPeriod',
    says: 'is "1.000000001s", outside of 1ms to 1s',
    accepted: { cpuCFSQuotaPeriod: '1s' },
  },
  {
    about: 'a period of CPU quota without its gate',
    refused: { cpuCFSQuotaPeriod: '50ms', featureGates: { CustomCPUCFSQuotaPeriod: false } },
    at: 'cpuCFSQuotaPeriod',
    says: 'needs the feature gate CustomCPUCFSQuotaPeriod, which is off',
    fix: 'remove it, or set featureGates.CustomCPUCFSQuotaPeriod to true',
    accepted: { cpuCFSQuotaPeriod: '100ms', featureGates: { CustomCPUCFSQuotaPeriod: false } },
  },
  {
    about: 'a short interval of looking at logs',
    refused: { containerLogMonitorInterval: '2.9s' },
    at: 'containerLogMonitorInterval',
    says: 'is "2.9s", outside of 3s or more',
    accepted: { containerLogMonitorInterval: '3s' },
  },
  {
    about: 'a short period between restarts',
    refused: { crashLoopBackOff: { maxContainerRestartPeriod: '999.9ms' } },
    at: 'crashLoopBackOff.maxContainerRestartPeriod',
    says: 'is "999.9ms", outside of 1s to 300s',
    accepted: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } },
  },
  {
    about: 'a long period between restarts',
    refused: { crashLoopBackOff: { maxContainerRestartPeriod: '300.001s' } },
    at: 'crashLoopBackOff.maxContainerRestartPeriod',
    says: 'is "300.001s", outside of 1s to 300s',
    accepted: { crashLoopBackOff: { maxContainerRestartPeriod: '300.0009s' } },
  },
  {
    about: 'a period between restarts without its gate',
    refused: {
      crashLoopBackOff: { maxContainerRestartPeriod: '10s' },
      featureGates: { KubeletCrashLoopBackOffMax: false },
    },
    at: 'crashLoopBackOff.maxContainerRestartPeriod',
    says: 'needs the feature gate KubeletCrashLoopBackOffMax, which is off',
    accepted: { crashLoopBackOff: {}, featureGates: { KubeletCrashLoopBackOffMax: false } },
  },
  {
    about: 'a negative flush frequency',
    refused: { logging: { flushFrequency: '-1s' } },
    at: 'logging.flushFrequency',
    says: 'is "-1s", which is negative',
    accepted: { logging: { flushFrequency: '0s' } },
  },
  {
    about: 'a negative flush frequency in nanoseconds',
    refused: { logging: { flushFrequency: -1 } },
    at: 'logging.flushFrequency',
    says: 'is -1, which is negative',
    accepted: { logging: { flushFrequency: 0 } },
  },
]);

describe('shutdown of the node', () => {
  judged([
    {
      about: 'a period below one second',
      refused: { shutdownGracePeriod: '500ms' },
      at: 'shutdownGracePeriod',
      says: 'is "500ms", which is neither 0s nor 1s or more',
      accepted: { shutdownGracePeriod: '1s' },
    },
    {
      about: 'a negative period',
      refused: { shutdownGracePeriod: '-30s' },
      at: 'shutdownGracePeriod',
      says: 'is "-30s", which is neither 0s nor 1s or more',
      accepted: { shutdownGracePeriod: '0s' },
    },
    {
      about: 'a longer period for critical pods than for all',
      refused: { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '31s' },
      at: 'shutdownGracePeriodCriticalPods',
      says: 'is "31s", above shutdownGracePeriod (30s)',
      accepted: { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '30s' },
    },
    {
      about: 'a period for critical pods alone',
      refused: { shutdownGracePeriodCriticalPods: '10s' },
      at: 'shutdownGracePeriodCriticalPods',
      says: 'is "10s", above shutdownGracePeriod (0s)',
      accepted: { shutdownGracePeriod: '10s', shutdownGracePeriodCriticalPods: '10s' },
    },
    {
      about: 'a period without its gate',
      refused: {
        shutdownGracePeriod: '30s',
        featureGates: { GracefulNodeShutdown: false, AllBeta: false },
      },
      at: 'shutdownGracePeriod',
      says: 'needs the feature gate GracefulNodeShutdown, which is off',
      accepted: {
        shutdownGracePeriod: '0s',
        featureGates: { GracefulNodeShutdown: false, AllBeta: false },
      },
    },
    {
      about: 'periods of two kinds',
      refused: {
        shutdownGracePeriod: '30s',
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
      },
      at: 'shutdownGracePeriodByPodPriority',
      says: 'cannot be combined with shutdownGracePeriod (30s)',
      accepted: {
        shutdownGracePeriod: '0s',
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
      },
    },
    {
      about: 'periods by priority without their gate',
      refused: {
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
        featureGates: { GracefulNodeShutdownBasedOnPodPriority: false },
      },
      at: 'shutdownGracePeriodByPodPriority',
      says: 'needs the feature gate GracefulNodeShutdownBasedOnPodPriority, which is off',
      accepted: {
        shutdownGracePeriodByPodPriority: [],
        featureGates: { GracefulNodeShutdownBasedOnPodPriority: false },
      },
    },
  ]);
});
