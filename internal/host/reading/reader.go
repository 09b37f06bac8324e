// Package reading answers the services that only read, from the journals, the tables, the
// blobs and the projects as they are: on a host that runs, and on a data directory that
// no host runs on.
package reading

import (
	"context"

	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Config says what there is to read.
type Config struct {
	States    States
	Projects  *registry.Projects
	Journals  *journals.Set
	Snapshots journal.Snapshots
	Tables    *Tables
	Blobs     blob.Store
	Dir       string // of the data, with the files that executions changed
	Secrets   *redact.Secrets
	Roles     *roles.Set
	// Core is what the cores of a project know when they only read.
	Core func(project string) project.Config
	// Room refuses to fold a project that has no room on this host. Nil refuses nothing.
	Room func(project string) error
}

// Reader answers the services that only read. All of it may be used at the same time.
type Reader struct {
	Views       *Views
	Tables      *Tables
	Graphs      *Graphs
	Executions  *Executions
	Notices     *Notices
	Transcripts *Transcripts
	Blobs       *Blobs
	Lines       *Lines
	Artifacts   *Artifacts
	Files       *Files
}

// New returns a reader of what there is.
func New(c Config) *Reader {
	history, pasts := history{c.Journals}, newPasts(c.Journals, c.Snapshots, c.Core)
	views := &Views{States: c.States, Projects: c.Projects, Tables: c.Tables, Blobs: c.Blobs}
	blobs := &Blobs{Store: c.Blobs, Secrets: c.Secrets, Journals: c.Journals, Projects: c.Projects}
	graphs := &Graphs{States: c.States, Projects: c.Projects, pasts: pasts}
	return &Reader{
		Views: views, Tables: c.Tables, Graphs: graphs, Blobs: blobs,
		Executions:  &Executions{Views: views, pasts: pasts, Room: c.Room},
		Notices:     &Notices{history: history, States: c.States, Projects: c.Projects, Roles: c.Roles},
		Transcripts: &Transcripts{Views: views, history: history, blobs: blobs},
		Lines:       &Lines{Views: views, Graphs: graphs},
		Artifacts:   &Artifacts{Views: views, Secrets: c.Secrets},
		Files:       &Files{Views: views, Secrets: c.Secrets, Dir: c.Dir},
	}
}

// Services returns what a reader answers, by name.
func (r *Reader) Services() map[string]service.Handler {
	all := map[string]service.Handler{
		"notices":    service.Asked(r.Notices.Page),
		"history":    service.Asked(r.Views.History),
		"why":        service.Asked(r.Lines.Why),
		"artifacts":  service.Asked(r.Artifacts.List),
		"artifact":   service.Asked(r.Artifacts.Part),
		"files":      service.Asked(r.Files.List),
		"file":       service.Asked(r.Files.Part),
		"blame":      service.Asked(r.Files.Blame),
		"commits":    service.Asked(r.Files.Commits),
		"compare":    service.Asked(r.Files.Compare),
		"state":      service.Asked(r.Executions.At),
		"transcript": service.Asked(r.Transcripts.Page),
		"blobs":      service.Asked(r.Blobs.Part),
		"ask": service.Of(func(ctx context.Context, q *loomv1.GraphRequest, c service.Call) (*loomv1.GraphReply, error) {
			return r.Graphs.AskFor(ctx, q, c.Projects)
		}),
		"metrics": service.Asked(r.Tables.Metrics),
		"cost":    service.Asked(r.Tables.Cost),
	}
	for _, v := range project.Views {
		all[string(v)] = service.Of(func(ctx context.Context, q *loomv1.Query, c service.Call) (*loomv1.View, error) {
			return r.Views.Answer(ctx, v, q, c.Projects)
		})
	}
	return all
}
