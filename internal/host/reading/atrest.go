package reading

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/clean"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/atrest"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// readAtRest are the services that need no host that runs; of tables says which of them
// ask the tables too.
var readAtRest = map[string]bool{
	"project": false, "bead": false, "execution": true, "inbox": false, "graph": false, "lock": false, "workflow": false, "pause": false,
	"permission": false, "memory": false, "session": false, "conversation": false, "notices": false, "transcript": false, "blobs": false, "state": false, "ask": false,
	"artifacts": false, "artifact": false,
	"why": true, "history": true, "metrics": true, "cost": true,
}

// AtRest answers the services that only read, from a data directory that no host runs
// on. It changes nothing in it: the journals are read from the files of the server, and
// the tables in a copy that is brought up to the journals. No host can start meanwhile.
type AtRest struct {
	dir      *datadir.Dir
	secrets  clean.Secrets
	roles    *roles.Set
	running  context.Context // ends with Close
	end      context.CancelFunc
	projects registry.Projects
	journals journals.Set
	tables   Tables // nothing is in them before they are filled
	answers  map[string]service.Handler

	filled  sync.Once
	fillErr error
	copied  string // directory of the tables
}

// OpenAtRest opens the data directory for reading. Secrets are taken out of what it
// answers; known may be nil for the built-in roles. It returns data/manifest where there
// is no data directory, and data/locked where a host has it.
func OpenAtRest(ctx context.Context, dir string, secrets []string, known *roles.Set) (*AtRest, error) {
	d, err := datadir.OpenAtRest(dir)
	if err != nil {
		return nil, err
	}
	if known == nil {
		known = roles.Builtin()
	}
	a := &AtRest{dir: d, secrets: clean.Secrets{Secrets: redact.Of(secrets)}, roles: known}
	a.running, a.end = context.WithCancel(ctx)
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *AtRest) open(ctx context.Context) error {
	snapshots, err := atrest.OpenSnapshots(a.dir.Path())
	if err != nil {
		return err
	}
	if a.journals.Blobs, err = atrest.OpenBlobs(a.dir.Path()); err != nil {
		return err
	}
	for i := range a.dir.Manifest().Partitions {
		log, err := atrest.OpenLog(a.dir.Path(), i)
		if err != nil {
			return err
		}
		a.journals.Logs = append(a.journals.Logs, log)
	}
	a.tables.Journals, a.tables.Projects = &a.journals, &a.projects
	states := &folds{running: a.running, projects: &a.projects, made: map[string]*project.State{}}
	r := New(Config{
		States: states, Projects: &a.projects, Journals: &a.journals, Snapshots: snapshots, Tables: &a.tables,
		Blobs: a.journals.Blobs, Secrets: a.secrets.Secrets, Roles: a.roles, Core: a.core,
	})
	states.pasts, a.answers = r.Executions.pasts, r.Services()
	return a.register(ctx, snapshots)
}

// core is what the cores of a project know of their surroundings.
func (a *AtRest) core(id string) project.Config {
	m := a.dir.Manifest()
	return project.Config{ID: id, Deployment: m.Deployment, Epoch: m.Epoch, Roles: a.roles}
}

// register finds the projects of all journals.
func (a *AtRest) register(ctx context.Context, snapshots journal.Snapshots) error {
	ids := map[string]bool{}
	for _, log := range a.journals.Logs {
		index, err := snapshots.Index(ctx, log.Partition())
		if err != nil {
			return err
		}
		for id := range index.GetProjects() {
			ids[id] = true
		}
		base, err := a.journals.Base(ctx, log.Partition())
		if err != nil {
			return err
		}
		for _, p := range base.GetProjects() {
			ids[p.Project] = true
		}
		err = log.Read(ctx, index.GetFloor()+1, func(_ uint64, b *loomv1.Batch) error {
			for _, e := range b.Events {
				ids[e.Project] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	delete(ids, "")
	delete(ids, project.System)
	a.projects.Add(slices.Sorted(maps.Keys(ids))...)
	return nil
}

// Close gives the directory free.
func (a *AtRest) Close() error {
	a.end()
	if a.tables.DB != nil {
		_ = a.tables.Close()
	}
	if a.copied != "" {
		_ = os.RemoveAll(a.copied)
	}
	return a.dir.Close()
}

// Newest returns the newest batch of all journals, nil where nothing was recorded.
func (a *AtRest) Newest(ctx context.Context) (newest *loomv1.Batch, err error) {
	for _, log := range a.journals.Logs {
		_, b, err := log.Last(ctx)
		if err != nil {
			return nil, err
		}
		if n := len(b.GetEvents()); n > 0 && (newest == nil || newest.Events[len(newest.Events)-1].Time.AsTime().Before(b.Events[n-1].Time.AsTime())) {
			newest = b
		}
	}
	return newest, nil
}

// Reads reports whether a service can be asked.
func Reads(service string) bool {
	_, can := readAtRest[service]
	return can
}

// Ask answers a service, by its name, as a host would its operator. It returns host/not-running for
// one that needs a host.
func (a *AtRest) Ask(ctx context.Context, name string, request []byte) ([]byte, error) {
	tables, can := readAtRest[name]
	if !can {
		return nil, fault.New("host/not-running", "%s needs a host that runs", name).At(a.dir.Path()).Want("start one with: loom up")
	}
	if tables {
		if a.filled.Do(func() { a.fillErr = a.fill(ctx) }); a.fillErr != nil {
			return nil, a.fillErr
		}
	}
	reply := a.answers[name](ctx, service.Call{Data: request, From: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR}})
	return proto.Marshal(a.secrets.Answer(reply))
}

// fill opens a copy of the tables and has the journals followed into it. What they lack
// is made from the journals, all of it where there are none that can be used.
func (a *AtRest) fill(ctx context.Context) (err error) {
	if a.copied, err = os.MkdirTemp("", "loom-tables-"); err != nil {
		return fault.New("data/permissions", "there is no place for a copy of the tables").Because(err)
	}
	path := filepath.Join(a.copied, "projection.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(a.dir.Path("projection.db"+suffix), path+suffix); err != nil {
			return fault.New("data/permissions", "the tables cannot be copied").At(a.copied).Because(err)
		}
	}
	if a.tables.DB, _, err = projection.Open(ctx, path); err != nil {
		return err
	}
	a.tables.SetBases(a.journals.BaseBefore)
	for _, log := range a.journals.Logs {
		go func() { _ = a.tables.Follow(a.running, log) }() // it ends with Close
	}
	return nil
}

// copyFile copies a file; one that is not there is none afterwards.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// folds answer from what the journals say of projects.
type folds struct {
	running  context.Context
	projects *registry.Projects
	pasts    *pasts

	one  sync.Mutex
	made map[string]*project.State
}

// state returns a project as the journal has it last.
func (f *folds) state(id string) (*project.State, error) {
	f.one.Lock()
	defer f.one.Unlock()
	if s := f.made[id]; s != nil {
		return s, nil
	}
	if !f.projects.Has(id) {
		return nil, fault.New("project/unknown", "project %q is not registered on this deployment", id).At("project").Got(id)
	}
	s, _, err := f.pasts.project(f.running, id, moment{})
	if err == nil {
		f.made[id] = s
	}
	return s, err
}

// Look implements States.
func (f *folds) Look(_ context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	s, err := f.state(q.GetProject())
	if err != nil {
		return nil, err
	}
	return s.Look(v, q)
}

// Ask implements States.
func (f *folds) Ask(_ context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	s, err := f.state(q.GetProject())
	if err != nil {
		return nil, err
	}
	return s.Ask(q)
}
