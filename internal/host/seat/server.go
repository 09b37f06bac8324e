// Package seat lets agents of leaf hosts work at the projects of a deployment: a
// [Client] on the leaf host asks over the wire what an agent elsewhere asks in memory,
// and a [Server] of any host answers, as far as the credentials of the leaf host and
// the attempt of the agent go.
package seat

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Config says what a server lends to agents of leaf hosts. All of it is needed.
type Config struct {
	// Way is how commands and questions of agents go to projects.
	Way actors.Way
	// Look looks at what a project has now.
	Look func(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	// Registered reports whether a project is.
	Registered func(project string) bool
	// Repository opens that of a registered project.
	Repository func(ctx context.Context, p *loomv1.ProjectConfig) (*agent.Repository, error)
	Blobs      blob.Store
	Roles      *roles.Set
	// Leaf returns the start of a leaf host that lives, 0 if none of its name does.
	Leaf func(name string) (epoch uint64)
	// IsHost reports whether a name is that of a host which is no leaf.
	IsHost func(name string) bool
	// Prepare makes sure that work for a role can wait for a leaf host.
	Prepare func(ctx context.Context, role string) error
	// Welcome says what a leaf host has joined, which may be one and has credentials
	// for these roles.
	Welcome func(ctx context.Context, hello *loomv1.LeafHello, roles []string) (*loomv1.LeafWelcome, error)
	Running context.Context // ends all that is being answered
	Log     *slog.Logger
}

// answerWithin bounds what is done for one question.
const answerWithin = 30 * time.Second

// Server answers agents of leaf hosts. All methods may be called at the same time.
type Server struct {
	config Config
	given  given
}

// New returns a server.
func New(c Config) *Server { return &Server{config: c} }

// Answer answers what an agent of a leaf host asks. Nothing that the request
// says of its sender is believed: host and roles are those of the credentials. What
// is refused is in the answer; only what cannot be read is an error.
func (s *Server) Answer(ctx context.Context, r broker.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	defer context.AfterFunc(s.config.Running, cancel)()
	q := &loomv1.SeatRequest{}
	if err := proto.Unmarshal(r.Data, q); err != nil {
		return nil, fault.New("command/malformed", "what an agent asks cannot be read")
	}
	reply, err := s.reply(ctx, r, q)
	if err != nil {
		reply = &loomv1.SeatReply{Error: fault.From(err).Proto()}
	}
	return proto.Marshal(reply)
}

func (s *Server) reply(ctx context.Context, r broker.Request, q *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	if r.Who.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_WORKER || s.config.IsHost(r.Who.Name) {
		return nil, fault.New("request/denied", "%q is no leaf host", r.Who.GetName())
	}
	if hello := q.GetHello(); hello != nil {
		return s.welcome(ctx, r, hello)
	}
	who := q.Claimant
	if err := s.admit(r, who); err != nil {
		return nil, err
	}
	at := &session{server: s, who: who, project: q.Project, attempt: q.Attempt, generation: q.Generation}
	switch b := q.Body.(type) {
	case *loomv1.SeatRequest_Command:
		return at.command(ctx, b.Command)
	case *loomv1.SeatRequest_Graph:
		return at.ask(ctx, b.Graph)
	case *loomv1.SeatRequest_Read:
		return at.read(ctx, b.Read)
	case *loomv1.SeatRequest_Write:
		return at.write(ctx, b.Write)
	}
	return nil, fault.New("command/malformed", "an agent asks for nothing")
}

// admit refuses an agent that is none of the leaf host whose credentials the
// request came with, or works in a role that they are not for.
func (s *Server) admit(r broker.Request, who *loomv1.Claimant) error {
	role, number, ok := strings.Cut(who.GetAgent(), "/")
	if _, err := strconv.ParseUint(number, 10, 16); !ok || err != nil || who.GetHost() != r.Who.Name || who.GetEpoch() == 0 {
		return fault.New("request/denied", "the agent is not one of leaf host %q", r.Who.Name).Got(who.GetAgent() + "@" + who.GetHost())
	}
	if known, is := s.config.Roles.Get(role); !is || known.Human || known.Name != role || !slices.Contains(r.Roles, role) {
		return fault.New("request/denied", "the credentials of %q are not for role %q", r.Who.Name, role)
	}
	switch epoch := s.config.Leaf(r.Who.Name); {
	case epoch > who.Epoch:
		return superseded(r.Who.Name)
	case epoch < who.Epoch:
		return fault.New("host/unavailable", "leaf host %q has not been heard of here yet", r.Who.Name)
	}
	return nil
}

func superseded(name string) error {
	return fault.New("request/denied", "leaf host %q was started again elsewhere", name).Want("give each leaf host credentials of its own")
}

// welcome says whether a leaf host may be one, and what it has joined.
func (s *Server) welcome(ctx context.Context, r broker.Request, hello *loomv1.LeafHello) (*loomv1.SeatReply, error) {
	p := hello.GetPresence()
	if p.GetHost() != r.Who.Name || p.GetEpoch() == 0 {
		return nil, fault.New("request/denied", "the credentials are those of %q", r.Who.Name).Got(p.GetHost())
	}
	if s.config.Leaf(r.Who.Name) > p.Epoch {
		return nil, superseded(r.Who.Name)
	}
	for _, c := range hello.Projects {
		if err := s.samePlace(ctx, c); err != nil {
			return nil, err
		}
	}
	for _, role := range r.Roles {
		if err := s.config.Prepare(ctx, role); err != nil {
			return nil, err
		}
	}
	welcome, err := s.config.Welcome(ctx, hello, r.Roles)
	if err != nil {
		return nil, err
	}
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Welcome{Welcome: welcome}}, nil
}

// samePlace refuses a project that is not registered, or with another
// repository.
func (s *Server) samePlace(ctx context.Context, c *loomv1.ProjectConfig) error {
	if !s.config.Registered(c.Id) {
		return fault.New("project/unknown", "project %q is not registered", c.Id).At("project").Got(c.Id)
	}
	view, err := s.config.Look(ctx, project.Projects, &loomv1.Query{Project: c.Id})
	if err != nil {
		return err
	}
	if len(view.Projects) != 1 || view.Projects[0].Repository != c.Repository {
		return fault.New("project/conflict", "project %q is registered with another repository than %s", c.Id, c.Repository).At("project " + c.Id).
			Want("the same repository under the same path on every host, for example on a shared file system")
	}
	return nil
}
