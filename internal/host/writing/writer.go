// Package writing answers the services by which clients change something: what they hand
// in, and what they say of beads, executions, decisions, memories, sessions and projects.
// Who may do so the projects decide, and here the kind of the sender.
package writing

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/clean"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Projects are the way to all projects of the deployment.
type Projects interface {
	Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error)
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	// Decide carries out what the CEO has signed.
	Decide(ctx context.Context, from *loomv1.Identity, signed *loomv1.SignedCommand) *loomv1.Answer
}

// Config says what a writer works with. All of it is needed.
type Config struct {
	Host string // this one
	Data string // its data directory

	Projects Projects
	// Way is how commands go that are about the memory.
	Way        actors.Way
	Known      *registry.Projects
	Registrar  *registry.Registrar
	Executions *reading.Executions
	Blobs      blob.Store
	Roles      *roles.Set
	Secrets    clean.Secrets
	// Submit files a submission or a report.
	Submit func(ctx context.Context, l actors.Letter) *loomv1.SubmitReply
	// Admit refuses new work where there is no space, Room new work of a project that
	// has too much.
	Admit func() error
	Room  func(project string) error
	// Hosts are all of the deployment that are known.
	Hosts func() []*loomv1.HostPresence
	// Lacking are the tools of the program that are not set up on this host, each with
	// what to do about it.
	Lacking map[string]*fault.Error
	// AsksModel says that a model can ask in primacy.
	AsksModel bool
}

// Writer answers services. All methods may be called at the same time.
type Writer struct {
	config Config
	knocks knocks
}

// New returns a writer.
func New(c Config) *Writer { return &Writer{config: c} }

// Services returns the services that a writer answers, by name.
func (w *Writer) Services() map[string]service.Handler {
	return map[string]service.Handler{
		"submit":   w.submit,
		"report":   w.submit,
		"update":   service.Of(w.update),
		"fork":     service.Of(w.fork),
		"say":      service.Of(w.say),
		"set":      service.Of(w.set),
		"command":  service.Of(w.command),
		"respond":  service.Of(w.respond),
		"decide":   service.Of(w.decideGraph),
		"remember": service.Of(w.writeMemory),
		"intent":   service.Of(w.actInSession),
		"converse": service.Of(w.converse),
		"toolkit":  service.Of(w.keepTools),
		"register": service.Of(w.changeProjects),
	}
}
