package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// tasks hands the stream of submissions to the intake.
type tasks struct{ *broker.Broker }

func (t tasks) ConsumeTasks(ctx context.Context, handle func(context.Context, actors.Letter) error) error {
	return t.Broker.ConsumeTasks(ctx, func(ctx context.Context, m broker.Task) error {
		return handle(ctx, actors.Letter{
			Subject: m.Subject, ContentType: header(m.Header, "Content-Type"), Data: m.Data, Key: taskKey(m),
			From: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER},
		})
	})
}

// taskKey names a message of the stream for good: by the id that its publisher
// gave it and its content, so that a publisher's retry files nothing twice and
// nobody can use up another's id; else by the stream's own id.
func taskKey(m broker.Task) string {
	id := header(m.Header, nats.MsgIdHdr)
	if id == "" {
		return m.ID
	}
	sum := sha256.Sum256(m.Data)
	return fmt.Sprintf("%q %x", id, sum)
}

// header returns the first value of a header, however it is spelled.
func header(h map[string][]string, name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// queue hands assignments to agents.
type queue struct{ *broker.Broker }

func (q queue) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	d, err := q.PullWork(ctx, role)
	if err != nil {
		return nil, err
	}
	return delivery{d}, nil
}

type delivery struct{ *broker.Delivery }

func (d delivery) Assignment() *loomv1.Assignment { return d.Delivery.Assignment }
func (d delivery) Ack(context.Context) error      { return d.Delivery.Ack() }

// repositories opens each registered repository once.
type repositories struct {
	mu   sync.Mutex
	open map[string]*agent.Repository
}

func (h *Host) repository(ctx context.Context, p *loomv1.ProjectConfig) (*agent.Repository, error) {
	h.repos.mu.Lock()
	defer h.repos.mu.Unlock()
	key := strings.Join([]string{p.Id, p.Repository, p.TargetBranch, p.Remote}, "\x00")
	if r, ok := h.repos.open[key]; ok {
		return r, nil
	}
	source, err := git.Open(ctx, p.Repository)
	if err == nil && p.Remote != "" {
		source, err = source.WithRemote(ctx, p.Remote)
	}
	if err != nil {
		return nil, err
	}
	workspaces, err := git.NewWorkspaces(h.dir.Path("git"), p.Id, p.TargetBranch, source)
	if err != nil {
		return nil, err
	}
	committer, err := git.NewCommitter(h.dir.Path("git"), p.Id, source)
	if err != nil {
		return nil, err
	}
	if h.repos.open == nil {
		h.repos.open = map[string]*agent.Repository{}
	}
	r := &agent.Repository{Workspaces: workspaces, Committer: committer, Source: source}
	h.repos.open[key] = r
	return r, nil
}

func (h *Host) live(projectID, bead, agent, text string) {
	if h.broker == nil {
		return // of a leaf host: nobody hears it
	}
	p, err := subject.Parse("project", projectID)
	if err != nil {
		return
	}
	b, err := subject.Parse("bead", bead)
	if err != nil {
		return
	}
	role, name, err := subject.Agent(agent)
	if err != nil {
		return
	}
	_ = h.broker.Core().Publish(subject.Live(p, b, role, name), []byte(text)) // live only: nobody is promised it
}

// register registers the configured projects and gives every project the
// definitions that this release brings.
func (h *Host) register(ctx context.Context) error {
	ids, err := h.projects.List(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id != project.System {
			h.know(id)
		}
	}
	if err := h.registerConfigured(ctx); err != nil {
		return err
	}
	if err := h.registerReporting(ctx); err != nil {
		return err
	}
	for _, id := range h.served() {
		if err := h.giveDefinitions(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// registerConfigured checks all configured projects before it registers any.
func (h *Host) registerConfigured(ctx context.Context) error {
	var configs []*loomv1.ProjectConfig
	for _, p := range h.config.Projects {
		if p.Standing {
			there, err := h.registration(ctx, p.ID)
			if err != nil {
				return err
			}
			if there.GetAdded() || there.GetRemoved() != nil {
				h.passed = append(h.passed, p.ID)
				continue
			}
		}
		c, err := h.resolve(ctx, p)
		if err != nil {
			return err
		}
		if there := h.registeredElsewhere(ctx, c); there != nil {
			return elsewherePlaced(there, c)
		}
		configs = append(configs, c)
		if err := h.free(ctx, c, configs); err != nil {
			return err
		}
	}
	for _, c := range configs {
		if err := h.registerOne(ctx, c, nil); err != nil {
			return err
		}
		h.know(c.Id)
	}
	return h.learnRemoved(ctx)
}

// resolve checks a repository and finds its target branch: the one that is
// named, else the one it was registered with, else the one that is checked out.
func (h *Host) resolve(ctx context.Context, p Project) (*loomv1.ProjectConfig, error) {
	path, err := filepath.Abs(p.Repository)
	if err != nil {
		return nil, fault.New("git/not-a-repository", "not a path: %s", err).At("project " + p.ID)
	}
	repo, err := git.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	if p.Branch == "" {
		p.Branch = h.registeredBranch(ctx, p.ID, repo.Path())
	}
	branch, _, err := repo.Branch(ctx, p.Branch)
	if err != nil {
		return nil, err
	}
	if p.Remote != "" {
		if err := heard(ctx, repo, p.Remote, branch); err != nil {
			return nil, fault.From(err).At("project " + p.ID)
		}
	}
	c := &loomv1.ProjectConfig{Id: p.ID, Repository: repo.Path(), TargetBranch: branch, Processes: p.Processes, Checks: p.Checks, Setup: p.Setup, SetupRegistries: p.Registries, SetupReads: p.SetupReads, SetupMakes: p.SetupMakes, Memory: p.Memory, OperatorsAnswer: p.OperatorsAnswer, Grace: h.grace(), Crashes: uint32(h.config.Crashes), Remote: p.Remote, Train: uint32(cmp.Or(h.config.Train, project.DefaultTrain)), Budget: h.config.Budget, BeadBudget: h.config.BeadBudget, DayBudget: h.config.DayBudget, Patch: p.Patch}
	return c, h.withReporting(ctx, c, p.Reporting)
}

// registeredElsewhere returns how a project is registered in a deployment of
// several hosts, if with another repository than c's.
func (h *Host) registeredElsewhere(ctx context.Context, c *loomv1.ProjectConfig) *loomv1.ProjectConfig {
	if !h.broker.Clustered() {
		return nil
	}
	there, err := h.registration(ctx, c.Id)
	if err != nil || there == nil || there.Repository == c.Repository {
		return nil
	}
	return there
}

// registration is how a project is registered, nil for one that is not.
func (h *Host) registration(ctx context.Context, id string) (*loomv1.ProjectConfig, error) {
	view, err := h.projects.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if fault.Code(err) == "project/unknown" {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil || len(view.Projects) != 1 {
		return nil, err
	}
	return view.Projects[0], nil
}

// heard refuses a remote that was never heard of, or lacks the branch.
func heard(ctx context.Context, repo *git.Repository, remote, branch string) error {
	with, err := repo.WithRemote(ctx, remote)
	if err == nil {
		_, err = with.Tip(ctx, branch)
	}
	return err
}

// registeredBranch returns the branch that a project lands on already, or "".
func (h *Host) registeredBranch(ctx context.Context, id, repository string) string {
	there, err := h.registration(ctx, id)
	if err != nil || there.GetRepository() != repository {
		return ""
	}
	return there.GetTargetBranch()
}

// free refuses a repository that another project of the deployment has: its
// fence is one for the deployment. More are about to be registered.
func (h *Host) free(ctx context.Context, c *loomv1.ProjectConfig, more []*loomv1.ProjectConfig) error {
	all, err := h.allProjects(ctx, &loomv1.Query{})
	if err != nil {
		return err
	}
	for _, other := range append(all.Projects, more...) {
		if other.Id == c.Id {
			continue
		}
		if other.Repository == c.Repository || git.Same(other.Repository, c.Repository) {
			e := fault.New("project/conflict", "repository %s belongs to project %q", c.Repository, other.Id).At("project " + c.Id)
			if other.Removed != nil {
				return e.Want("that project was removed, and can be added again under its name")
			}
			return e
		}
		if c.Remote == other.Remote && strings.ContainsAny(c.Remote, "/:") {
			return fault.New("project/conflict", "remote %s belongs to project %q", c.Remote, other.Id).At("project " + c.Id)
		}
	}
	return nil
}

func (h *Host) giveDefinitions(ctx context.Context, id string) error {
	for _, name := range h.library.Names() {
		def, _ := h.library.Get(name)
		if err := h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}}); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) do(ctx context.Context, id string, cmd *loomv1.Command) error {
	cmd.Project = id
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: h.dir.Manifest().Host}
	_, err := h.projects.Do(ctx, cmd)
	return err
}

// serveWithin bounds a request to a service, and readWithin one that may have
// to read a journal from its beginning.
const (
	serveWithin = 30 * time.Second
	readWithin  = 85 * time.Second
)

// serve opens the host to requests, once every project is known.
func (h *Host) serve(context.Context) error {
	h.intake = h.system.StartIntake(h.ctx, h.projects, gated{tasks{h.broker}, h}, h.only, h.fit, h.log)
	h.own.done.Go(h.fileOwn)
	services := h.services()
	if err := endpoint.Complete(slices.Collect(maps.Keys(services))); err != nil {
		return err
	}
	for name, f := range services {
		if err := h.broker.Serve(name, h.handler(timeLimit(name), f)); err != nil {
			return err
		}
	}
	if err := h.broker.ServeSeat(h.serveSeat); err != nil {
		return err
	}
	return h.broker.ServeCEO(h.handler(serveWithin, h.serveCEO))
}

// timeLimit bounds a request to a service.
func timeLimit(service string) time.Duration {
	if endpoint.Of(service).Slow {
		return readWithin
	}
	return serveWithin
}

func (h *Host) handler(within time.Duration, f func(context.Context, call) proto.Message) broker.Handler {
	return func(ctx context.Context, r broker.Request) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		defer context.AfterFunc(h.ctx, cancel)() // nobody is left to ask once the host stops
		if err := h.permit(r); err != nil {
			return nil, h.cleanError(err)
		}
		kind := header(r.Header, "Content-Type")
		reply := f(ctx, call{subject: r.Subject, contentType: kind, data: r.Data, from: r.Who, projects: r.Projects})
		return encode(kind, h.cleanAnswer(reply))
	}
}

// serveCEO takes a command that came in over the account of the CEO, whose
// users are its way in; what it is worth, its signature says.
func (h *Host) serveCEO(ctx context.Context, c call) proto.Message {
	cmd := &loomv1.SignedCommand{}
	if err := actors.Decode(c.contentType, c.data, cmd); err != nil {
		return &loomv1.Answer{Error: fault.From(err).Proto()}
	}
	from := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO}
	if rest := subject.After(subject.Must("ceo"), c.subject); len(rest) > 0 {
		from.Name = rest[0]
	}
	return h.projects.Decide(ctx, from, cmd)
}
