package main

import (
	"context"
	"net/http"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
)

type ContainerdAnswer struct {
	// Every request of a pull in which no host has the image, in order.
	Asked []Request `json:"asked"`
	Error string    `json:"error"`
}

type Request struct {
	// Without the parameter that names the source to a mirror.
	URL string `json:"url"`
	// Whether the certificate of the host would be verified.
	Verified bool `json:"verified"`
}

// Looks an image up as the CRI service of containerd does; nothing leaves the process.
func askContainerd(at func(string) string, image string) ContainerdAnswer {
	ctx := context.Background()
	log := &requests{}
	hosts := config.ConfigureHosts(ctx, config.HostOptions{
		HostDir:      config.HostDirFromRoot(at("/etc/containerd/certs.d")),
		UpdateClient: log.attach,
	})
	_, _, err := docker.NewResolver(docker.ResolverOptions{Hosts: hosts}).Resolve(ctx, image)
	return ContainerdAnswer{Asked: append([]Request{}, log.asked...), Error: text(err)}
}

type requests struct {
	asked []Request
}

func (r *requests) attach(client *http.Client) error {
	verified := true
	if transport, ok := client.Transport.(*http.Transport); ok && transport.TLSClientConfig != nil {
		verified = !transport.TLSClientConfig.InsecureSkipVerify
	}
	client.Transport = nowhere{r, verified}
	return nil
}

// Answers that the image is not there.
type nowhere struct {
	log      *requests
	verified bool
}

func (n nowhere) RoundTrip(request *http.Request) (*http.Response, error) {
	url := *request.URL
	url.RawQuery = ""
	n.log.asked = append(n.log.asked, Request{URL: url.String(), Verified: n.verified})
	return &http.Response{
		Status:     "404 Not Found",
		StatusCode: http.StatusNotFound,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		Body:       http.NoBody,
		Request:    request,
	}, nil
}
