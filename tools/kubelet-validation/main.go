// Says what a kubelet refuses of a KubeletConfiguration: one JSON line in, one JSON line out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/component-base/logs/json/register" // as the kubelet does
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
)

type request struct {
	Document       json.RawMessage   `json:"document"`
	SystemReserved map[string]string `json:"systemReserved"`
}

type refusal struct {
	Check   string `json:"check"`
	Message string `json:"message"`
}

type answer struct {
	Refusals []refusal `json:"refusals"`
}

type gate struct {
	Name      string   `json:"name"`
	Stage     string   `json:"stage"`
	Default   bool     `json:"default"`
	Locked    bool     `json:"locked"`
	DependsOn []string `json:"dependsOn"`
}

var pristine = utilfeature.DefaultMutableFeatureGate

func main() {
	klog.SetLogger(klog.Logger{})
	out := json.NewEncoder(os.Stdout)
	if len(os.Args) > 1 && os.Args[1] == "gates" {
		if err := out.Encode(gates()); err != nil {
			panic(err)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(answer{refusals(asked)}); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}

func gates() []gate {
	known := []gate{}
	dependencies := pristine.Dependencies()
	for name, spec := range pristine.GetAll() {
		stage := string(spec.PreRelease)
		if stage == "" {
			stage = "GA"
		}
		needs := []string{}
		for _, need := range dependencies[name] {
			needs = append(needs, string(need))
		}
		sort.Strings(needs)
		known = append(known, gate{string(name), stage, spec.Default, spec.LockToDefault, needs})
	}
	sort.Slice(known, func(a, b int) bool { return known[a].Name < known[b].Name })
	return known
}

func refusals(asked request) (found []refusal) {
	found = []refusal{}
	check := "decode"
	defer func() {
		if problem := recover(); problem != nil {
			found = append(found, refusal{check, fmt.Sprint("panic: ", problem)})
		}
	}()
	fresh := pristine.DeepCopy()
	utilfeature.DefaultMutableFeatureGate = fresh
	utilfeature.DefaultFeatureGate = fresh
	note := func(name string, err error) {
		if err == nil {
			return
		}
		if many, ok := err.(utilerrors.Aggregate); ok {
			for _, one := range many.Errors() {
				found = append(found, refusal{name, one.Error()})
			}
			return
		}
		found = append(found, refusal{name, err.Error()})
	}
	_, codecs, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		panic(err)
	}
	config, err := codec.DecodeKubeletConfiguration(context.Background(), codecs, asked.Document)
	if err != nil {
		note("decode", err)
		return
	}
	defaultEviction(config)
	if asked.SystemReserved != nil {
		config.SystemReserved = asked.SystemReserved
	}
	check = "featureGates"
	if err := fresh.SetFromMap(config.FeatureGates); err != nil {
		note("featureGates", err)
		return
	}
	// Machines of Slipway have cgroup v2. The machine that asks may not.
	judged := *config
	judged.FailCgroupV1 = false
	judged.SingleProcessOOMKill = nil
	check = "validation"
	note("validation", validation.ValidateKubeletConfiguration(&judged, fresh))
	check = "start"
	atStart(config, fresh, note)
	return
}

func defaultEviction(config *kubeletconfig.KubeletConfiguration) {
	if config.EvictionHard == nil {
		config.EvictionHard = map[string]string{}
		for signal, threshold := range eviction.DefaultEvictionHard {
			config.EvictionHard[signal] = threshold
		}
	} else if config.MergeDefaultEvictionSettings {
		for signal, threshold := range eviction.DefaultEvictionHard {
			if _, exists := config.EvictionHard[signal]; !exists {
				config.EvictionHard[signal] = threshold
			}
		}
	}
}
