package main

import (
	"fmt"
	"strconv"
	"strings"
	_ "unsafe"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/utils/cpuset"
)

//go:linkname parseResourceList k8s.io/kubernetes/cmd/kubelet/app.parseResourceList
func parseResourceList(m map[string]string) (v1.ResourceList, error)

func managers(config *kubeletconfig.KubeletConfiguration, gates featuregate.FeatureGate, note func(string, error)) {
	reservedCPUs, err := cpuset.Parse(config.ReservedSystemCPUs)
	if err != nil {
		return
	}
	if reservedCPUs.Size() > 0 {
		delete(config.KubeReserved, "cpu")
		if config.SystemReserved == nil {
			config.SystemReserved = map[string]string{}
		}
		config.SystemReserved["cpu"] = strconv.Itoa(reservedCPUs.Size())
	}
	kubeReserved, err := parseResourceList(config.KubeReserved)
	note("kubeReserved", err)
	if err != nil {
		return
	}
	systemReserved, err := parseResourceList(config.SystemReserved)
	note("systemReserved", err)
	if err != nil {
		return
	}
	hard, err := eviction.ParseThresholdConfig([]string{}, config.EvictionHard, nil, nil, nil)
	if err != nil {
		return
	}
	// enforceExistingCgroup of pkg/kubelet/cm needs limits.
	for _, level := range config.EnforceNodeAllocatable {
		isSystem := strings.HasPrefix(level, "system-reserved")
		if (isSystem && systemReserved == nil) || (strings.HasPrefix(level, "kube-reserved") && kubeReserved == nil) {
			note("enforceNodeAllocatable", fmt.Errorf("%s cgroup is not configured properly", level))
		}
	}
	topologyOptions := config.TopologyManagerPolicyOptions
	if !gates.Enabled("TopologyManagerPolicyOptions") && topologyOptions != nil {
		note("topologyManagerPolicyOptions", fmt.Errorf("requires TopologyManagerPolicyOptions"))
		return
	}
	machine := roomyMachine()
	affinity, err := topologymanager.NewManager(machine.Topology, config.TopologyManagerPolicy, config.TopologyManagerScope, topologyOptions)
	note("topologyManager", err)
	if err != nil {
		affinity = topologymanager.NewFakeManager()
	}
	reservation := nodeReservation(systemReserved, kubeReserved, hard)
	_, err = cpumanager.NewManager(klog.Logger{}, config.CPUManagerPolicy, config.CPUManagerPolicyOptions, config.CPUManagerReconcilePeriod.Duration, machine, reservedCPUs, reservation, "/", affinity)
	note("cpuManager", err)
	_, err = memorymanager.NewManager(klog.Logger{}, config.MemoryManagerPolicy, machine, reservation, config.ReservedMemory, "/", affinity)
	note("memoryManager", err)
}

// GetNodeAllocatableReservation of pkg/kubelet/cm, whose type only a real machine can make.
func nodeReservation(system, kube v1.ResourceList, hard []evictionapi.Threshold) v1.ResourceList {
	reservation := v1.ResourceList{}
	memory := resource.MustParse("1Pi")
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		sum := resource.NewQuantity(0, resource.DecimalSI)
		sum.Add(system[name])
		sum.Add(kube[name])
		for _, threshold := range hard {
			if name == v1.ResourceMemory && threshold.Signal == evictionapi.SignalMemoryAvailable {
				sum.Add(*evictionapi.GetThresholdQuantity(threshold.Value, &memory))
			}
		}
		if !sum.IsZero() {
			reservation[name] = *sum
		}
	}
	return reservation
}

// Eight NUMA nodes of 32 CPUs.
func roomyMachine() *cadvisorapi.MachineInfo {
	machine := &cadvisorapi.MachineInfo{NumCores: 256, NumPhysicalCores: 256, NumSockets: 8}
	for node := 0; node < 8; node++ {
		here := cadvisorapi.Node{Id: node, Memory: 1 << 47, Distances: []uint64{10, 20, 20, 20, 20, 20, 20, 20}}
		for core := 0; core < 32; core++ {
			id := node*32 + core
			here.Cores = append(here.Cores, cadvisorapi.Core{Id: id, Threads: []int{id}, SocketID: node})
		}
		machine.Topology = append(machine.Topology, here)
	}
	return machine
}
