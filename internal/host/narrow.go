package host

import (
	"slices"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/proto/subject"
)

// permit refuses a request of a sender who is narrowed to some projects, when
// it is about another, or cannot be said to be about one of them. What it names
// and what its ids belong to must all be among them.
func (h *Host) permit(r broker.Request) error {
	if len(r.Projects) == 0 {
		return nil
	}
	rest := subject.After(subject.Must("svc"), r.Subject)
	if len(rest) != 1 {
		return unnamed(r)
	}
	named, err := about(rest[0], header(r.Header, "Content-Type"), r.Data)
	if err != nil {
		return err
	}
	named = slices.DeleteFunc(named, func(id string) bool { return id == "" })
	if only := h.known.Only(); len(named) == 0 && only != "" && !endpoint.Of(rest[0]).OfAll {
		named = []string{only}
	}
	for _, id := range named {
		if !slices.Contains(r.Projects, id) {
			return reading.Denied(id)
		}
	}
	if len(named) == 0 && !reading.Spans(project.View(rest[0])) { // those lists have only what the sender may read
		return unnamed(r)
	}
	return nil
}

func unnamed(r broker.Request) error {
	return fault.New("request/denied", "%q is narrowed to some projects, and this names none of them", r.Who.GetName()).At("project").
		Want("name one of its own")
}

// about returns the projects that a request to a service names, by themselves
// or in ids. It refuses services of which that cannot be said.
func about(service, kind string, data []byte) ([]string, error) {
	e := endpoint.Of(service)
	if e == nil || !e.Narrow() {
		return nil, fault.New("request/denied", "service %q is not for credentials that are narrowed to projects", service)
	}
	m := e.Request.ProtoReflect().New().Interface()
	if err := actors.Decode(kind, data, m); err != nil {
		return nil, err
	}
	named, ids := e.About(m)
	for _, id := range ids {
		named = append(named, project.Of(id))
	}
	return named, nil
}
