/**
 * Feature gates that a kubelet knows, those of servers included: it is built with all of them. A test
 * compares them with the program of tools/kubelet-validation.
 */

export const GateStage = { ALPHA: 'ALPHA', BETA: 'BETA', OTHER: 'OTHER' } as const;
export type GateStage = (typeof GateStage)[keyof typeof GateStage];

export interface FeatureGate {
  readonly stage: GateStage;
  /** By default. */
  readonly isOn: boolean;
  /** True = nothing else can be written. */
  readonly isLocked: boolean;
  /** Gates that have to be on where this one is. */
  readonly needs: readonly string[];
}

const ALPHA_OFF = `
  APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
  CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR
  ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation
  CloudControllerManagerWebhook ContainerStopSignals
  ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
  DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
  DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload HPAScaleToZero
  ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
  InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions
  ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
  PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
  PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
  RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
  TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling
  WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob
`;

const BETA_ON = `
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
  AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
  CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
  ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
  ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
  DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
  DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
  DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
  DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
  InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
  InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
  KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
  NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
  PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
  PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
  RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
  SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
  StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
  StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
  StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
  TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
  UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook WatchList WatchListClient
  WindowsGracefulNodeShutdown
`;

const BETA_OFF = `
  AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
  CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
  MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
  StorageVersionMigrator
`;

/** Stable or deprecated. */
const OTHER_ON = `
  AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList
  DisableCPUQuotaWithExclusiveCPUs InformerResourceVersion KubeletPodResourcesListUseActivePods
  MutatingAdmissionPolicy ServiceCIDRStatusFieldWiping StorageNamespaceIndex
`;

const OTHER_OFF = `
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover KMSv1
  KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
`;

const LOCKED_ON = `
  APIServerTracing AggregatedDiscoveryRemoveBetaType AnonymousAuthConfigurableEndpoints
  AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache
  CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
  ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess DeclarativeValidation
  DisableAllocatorDualWrite DisableNodeKubeProxyVersion DynamicResourceAllocation
  ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume
  InOrderInformers InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy
  JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
  KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
  LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
  MutableCSINodeAllocatableCount NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread
  NodeLogQuery NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction
  PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
  PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
  RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
  ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
  SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
  ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
  StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
  SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
  VolumeAttributesClass WinDSR WinOverlay
`;

const LOCKED_OFF = `
  AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
`;

/** A gate, and those that it needs. */
const NEEDS: readonly string[] = [
  'AuthorizeNodeWithSelectors AuthorizeWithSelectors',
  'ClusterTrustBundleProjection ClusterTrustBundle',
  'DRAAdminAccess DynamicResourceAllocation',
  'DRAConsumableCapacity DynamicResourceAllocation',
  'DRADeviceBindingConditions DRAResourceClaimDeviceStatus DynamicResourceAllocation',
  'DRADeviceTaintRules DRADeviceTaints',
  'DRADeviceTaints DynamicResourceAllocation',
  'DRAExtendedResource DynamicResourceAllocation',
  'DRAListTypeAttributes DynamicResourceAllocation',
  'DRANodeAllocatableResources DynamicResourceAllocation',
  'DRAPartitionableDevices DynamicResourceAllocation',
  'DRAPrioritizedList DynamicResourceAllocation',
  'DRAResourceClaimGranularStatusAuthorization DRAResourceClaimDeviceStatus DynamicResourceAllocation',
  'DRAResourcePoolStatus DynamicResourceAllocation',
  'DRASchedulerFilterTimeout DynamicResourceAllocation',
  'DRAWorkloadResourceClaims DynamicResourceAllocation GenericWorkload',
  'DeclarativeValidationBeta DeclarativeValidation',
  'DeclarativeValidationTakeover DeclarativeValidation',
  'DisableAllocatorDualWrite MultiCIDRServiceAllocator',
  'ExtendWebSocketsToKubelet NodeDeclaredFeatures',
  'GangScheduling GenericWorkload',
  'GracefulNodeShutdownBasedOnPodPriority GracefulNodeShutdown',
  'ImageVolumeWithDigest ImageVolume',
  'InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources',
  'InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScaling',
  'InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScaling',
  'InPlacePodVerticalScalingInitContainers InPlacePodVerticalScaling NodeDeclaredFeatures',
  'MatchLabelKeysInPodTopologySpreadSelectorMerge MatchLabelKeysInPodTopologySpread',
  'PodCertificateRequest AuthorizeNodeWithSelectors',
  'PodLevelResourceManagers PodLevelResources',
  'PodLifecycleSleepActionAllowZero PodLifecycleSleepAction',
  'ProcMountType UserNamespacesSupport',
  'ResourceHealthStatus DynamicResourceAllocation',
  'ResourceHealthStatusMessage ResourceHealthStatus',
  'RestartAllContainersOnContainerExits ContainerRestartRules NodeDeclaredFeatures',
  'ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation',
  'StaleControllerConsistencyDaemonSet AtomicFIFO',
  'StaleControllerConsistencyJob AtomicFIFO',
  'StaleControllerConsistencyReplicaSet AtomicFIFO',
  'StaleControllerConsistencyStatefulSet AtomicFIFO',
  'StorageVersionAPI APIServerIdentity',
  'StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfiguration',
  'StructuredAuthenticationConfigurationJWKSMetrics StructuredAuthenticationConfiguration',
  'TopologyAwareWorkloadScheduling GenericWorkload',
  'UnknownVersionInteroperabilityProxy APIServerIdentity',
  'UserNamespacesHostNetworkSupport NodeDeclaredFeatures UserNamespacesSupport',
  'WindowsGracefulNodeShutdown GracefulNodeShutdown',
  'WorkloadAwarePreemption GangScheduling',
  'WorkloadWithJob GenericWorkload',
];

const NEEDED: ReadonlyMap<string, readonly string[]> = new Map(
  NEEDS.map((line) => line.split(' ')).map(([name = '', ...needs]) => [name, needs]),
);

export const FEATURE_GATES: ReadonlyMap<string, FeatureGate> = new Map([
  ...gates(ALPHA_OFF, GateStage.ALPHA, false),
  ...gates(BETA_ON, GateStage.BETA, true),
  ...gates(BETA_OFF, GateStage.BETA, false),
  ...gates(OTHER_ON, GateStage.OTHER, true),
  ...gates(OTHER_OFF, GateStage.OTHER, false),
  ...gates(LOCKED_ON, GateStage.OTHER, true, true),
  ...gates(LOCKED_OFF, GateStage.OTHER, false, true),
]);

function gates(
  names: string,
  stage: GateStage,
  isOn: boolean,
  isLocked = false,
): readonly [string, FeatureGate][] {
  const all = names.trim().split(/\s+/);
  return all.map((name) => [name, { stage, isOn, isLocked, needs: NEEDED.get(name) ?? [] }]);
}
