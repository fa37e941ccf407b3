// Says how the real libraries of CRI-O and containerd understand the files in a folder that stands for the root of a
// machine. Reads a Question from the file that is its argument, and writes an Answer.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

type Question struct {
	// The folder that stands for /.
	Root string `json:"root"`
	// Full references.
	Images []string `json:"images"`
	// Policies to read, such as /etc/containers/policy.json.
	Policies []string `json:"policies"`
}

type Answer struct {
	// Why CRI-O would refuse registries.conf; empty = it does not.
	RegistriesError string `json:"registriesError,omitempty"`
	// Registries for short names.
	Search []string `json:"search"`
	// By image.
	Images map[string]ImageAnswer `json:"images"`
	// By path.
	Policies map[string]PolicyAnswer `json:"policies"`
	// Why registries.d would be refused; empty = it would not.
	AttachmentsError string `json:"attachmentsError,omitempty"`
}

type ImageAnswer struct {
	Crio       CrioAnswer       `json:"crio"`
	Containerd ContainerdAnswer `json:"containerd"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image-registries:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("usage: image-registries QUESTION.json")
	}
	contents, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	var question Question
	if err := json.Unmarshal(contents, &question); err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	return json.NewEncoder(os.Stdout).Encode(answer(question))
}

func answer(question Question) Answer {
	at := func(path string) string { return filepath.Join(question.Root, path) }
	crio := newCrio(at)
	result := Answer{
		RegistriesError:  crio.registriesError(),
		Search:           crio.search(),
		Images:           map[string]ImageAnswer{},
		Policies:         map[string]PolicyAnswer{},
		AttachmentsError: crio.attachmentsError(),
	}
	for _, image := range question.Images {
		result.Images[image] = ImageAnswer{Crio: crio.image(image), Containerd: askContainerd(at, image)}
	}
	for _, path := range question.Policies {
		result.Policies[path] = readPolicy(at(path), question.Images)
	}
	return result
}
