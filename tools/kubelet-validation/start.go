package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"k8s.io/apimachinery/pkg/types"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/tracing"
	remoteutil "k8s.io/cri-client/pkg/util"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"
	"k8s.io/kubernetes/pkg/kubelet/userns"
	netutils "k8s.io/utils/net"
)

// What Run and NewMainKubelet check, on a machine with more than enough of everything.
func atStart(config *kubeletconfig.KubeletConfiguration, gates featuregate.FeatureGate, note func(string, error)) {
	ctx := context.Background()
	_, err := cliflag.TLSCipherSuites(config.TLSCipherSuites)
	note("tlsCipherSuites", err)
	_, err = cliflag.TLSVersion(config.TLSMinVersion)
	note("tlsMinVersion", err)
	_, err = cliflag.TLSCurvePreferences(config.TLSCurvePreferences)
	note("tlsCurvePreferences", err)
	_, err = tracing.NewProvider(ctx, config.Tracing, []otlptracegrpc.Option{}, nil)
	note("tracing", err)
	if mode := config.Authorization.Mode; mode != kubeletconfig.KubeletAuthorizationModeWebhook {
		_, err = app.BuildAuthz(nil, config.Authorization)
		note("authorization.mode", err)
	}
	endpoints := map[string]string{"containerRuntimeEndpoint": config.ContainerRuntimeEndpoint, "imageServiceEndpoint": config.ImageServiceEndpoint}
	for name, endpoint := range endpoints {
		if endpoint != "" {
			_, _, err = remoteutil.GetAddressAndDialer(endpoint)
			note(name, err)
		}
	}
	if config.EnableServer && netutils.ParseIPSloppy(config.Address) == nil {
		note("address", fmt.Errorf("cannot listen on %q", config.Address))
	}
	if config.EnableServer && config.Port == config.ReadOnlyPort {
		note("readOnlyPort", fmt.Errorf("both servers listen on %d", config.Port))
	}
	if config.SyncFrequency.Duration <= 0 {
		note("syncFrequency", fmt.Errorf("invalid sync frequency %d", config.SyncFrequency.Duration))
	}
	switch config.ConfigMapAndSecretChangeDetectionStrategy {
	case kubeletconfig.WatchChangeDetectionStrategy, kubeletconfig.TTLCacheChangeDetectionStrategy, kubeletconfig.GetChangeDetectionStrategy:
	default:
		note("configMapAndSecretChangeDetectionStrategy", fmt.Errorf("unknown mode %v", config.ConfigMapAndSecretChangeDetectionStrategy))
	}
	_, err = logs.NewContainerLogManager(nil, nil, config.ContainerLogMaxSize, int(config.ContainerLogMaxFiles), int(config.ContainerLogMaxWorkers), config.ContainerLogMonitorInterval)
	note("containerLogMaxSize", err)
	_, err = sysctl.NewAllowlist(config.AllowedUnsafeSysctls)
	note("allowedUnsafeSysctls", err)
	_, err = eviction.ParseThresholdConfig(config.EnforceNodeAllocatable, config.EvictionHard, config.EvictionSoft, config.EvictionSoftGracePeriod, config.EvictionMinimumReclaim)
	note("eviction", err)
	_, err = cm.ParseQOSReserved(config.QOSReserved)
	note("qosReserved", err)
	if config.RuntimeRequestTimeout.Duration < 0 {
		note("runtimeRequestTimeout", fmt.Errorf("deadline exceeded after %v", config.RuntimeRequestTimeout.Duration))
	}
	_, err = userns.MakeUserNsManager(klog.Logger{}, pods{maxPods: int(config.MaxPods)}, idsPerPod(config))
	note("userNamespaces", err)
	managers(config, gates, note)
}

func idsPerPod(config *kubeletconfig.KubeletConfiguration) *int64 {
	if config.UserNamespaces == nil {
		return nil
	}
	return config.UserNamespaces.IDsPerPod
}

// A machine without a user kubelet (getKubeletMappings), and without pods.
type pods struct{ maxPods int }

func (pods) HandlerSupportsUserNamespaces(string) (bool, error) { return true, nil }
func (pods) GetPodDir(types.UID) string                         { return "" }
func (pods) ListPodsFromDisk() ([]types.UID, error)             { return nil, nil }
func (p pods) GetMaxPods() int                                  { return p.maxPods }
func (pods) GetKubeletMappings(_ klog.Logger, ids uint32) (uint32, uint32, error) {
	return ids, uint32((1 << 32) - uint64(ids)), nil
}
