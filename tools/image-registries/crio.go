package main

import (
	"encoding/json"
	"os"

	"go.podman.io/image/v5/docker"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/signature"
	"go.podman.io/image/v5/types"
)

type CrioAnswer struct {
	// Places in the order in which they are tried.
	Sources []CrioSource `json:"sources"`
	Error   string       `json:"error,omitempty"`
}

type CrioSource struct {
	// Host and path.
	Name     string `json:"name"`
	Insecure bool   `json:"insecure"`
	Blocked  bool   `json:"blocked"`
}

type crio struct {
	system *types.SystemContext
}

func newCrio(at func(string) string) crio {
	return crio{&types.SystemContext{
		SystemRegistriesConfPath:    at("/etc/containers/registries.conf"),
		SystemRegistriesConfDirPath: at("/etc/containers/registries.conf.d"),
		RegistriesDirPath:           at("/etc/containers/registries.d"),
	}}
}

func (c crio) registriesError() string {
	if _, err := os.Stat(c.system.SystemRegistriesConfPath); os.IsNotExist(err) {
		return ""
	}
	_, err := sysregistriesv2.GetRegistries(c.system)
	return text(err)
}

func (c crio) search() []string {
	registries, err := sysregistriesv2.UnqualifiedSearchRegistries(c.system)
	if err != nil || registries == nil {
		return []string{}
	}
	return registries
}

// The files are read as a whole, so that any reference finds a fault in them.
func (c crio) attachmentsError() string {
	ref, err := docker.ParseReference("//example.com/any:1")
	if err != nil {
		return err.Error()
	}
	_, err = docker.SignatureStorageBaseURL(c.system, ref, false)
	return text(err)
}

func (c crio) image(image string) CrioAnswer {
	answer := CrioAnswer{Sources: []CrioSource{}}
	ref, err := reference.ParseNamed(image)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	registry, err := sysregistriesv2.FindRegistry(c.system, image)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	if registry == nil {
		answer.Sources = append(answer.Sources, CrioSource{Name: ref.Name()})
		return answer
	}
	sources, err := registry.PullSourcesFromReference(ref)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	for _, source := range sources {
		// As the client of a registry does, which looks up its own place.
		own, err := sysregistriesv2.FindRegistry(c.system, source.Reference.Name())
		if err != nil {
			answer.Error = err.Error()
			return answer
		}
		answer.Sources = append(answer.Sources, CrioSource{
			Name:     source.Reference.Name(),
			Insecure: source.Endpoint.Insecure || (own != nil && own.Insecure),
			Blocked:  own != nil && own.Blocked,
		})
	}
	return answer
}

type PolicyAnswer struct {
	Error string `json:"error,omitempty"`
	// By image, the scope that counts: "default", or the scope.
	Scopes map[string]string `json:"scopes"`
	// By image.
	Requirements map[string]json.RawMessage `json:"requirements"`
}

func readPolicy(path string, images []string) PolicyAnswer {
	answer := PolicyAnswer{Scopes: map[string]string{}, Requirements: map[string]json.RawMessage{}}
	policy, err := signature.NewPolicyFromFile(path)
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	for _, image := range images {
		ref, err := docker.ParseReference("//" + image)
		if err != nil {
			answer.Error = err.Error()
			return answer
		}
		scope, requirements := requirementsOf(policy, ref)
		encoded, err := json.Marshal(requirements)
		if err != nil {
			answer.Error = err.Error()
			return answer
		}
		answer.Scopes[image] = scope
		answer.Requirements[image] = encoded
	}
	return answer
}

// As signature.PolicyContext, which keeps its search to itself.
func requirementsOf(policy *signature.Policy, ref types.ImageReference) (string, signature.PolicyRequirements) {
	scopes := policy.Transports[ref.Transport().Name()]
	names := append([]string{ref.PolicyConfigurationIdentity()}, ref.PolicyConfigurationNamespaces()...)
	for _, name := range append(names, "") {
		if requirements, ok := scopes[name]; ok {
			return name, requirements
		}
	}
	return "default", policy.Default
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
