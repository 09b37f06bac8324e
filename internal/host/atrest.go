package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/atrest"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// states answers from what projects are now.
type states interface {
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)
}

// readAtRest are the services that need no host that runs; of tables says which of them
// ask the tables too.
var readAtRest = map[string]bool{
	"project": false, "bead": false, "execution": true, "inbox": false, "graph": false, "lock": false, "workflow": false, "pause": false,
	"permission": false, "memory": false, "notices": false, "transcript": false, "blobs": false, "state": false, "ask": false,
	"why": true, "history": true, "metrics": true, "cost": true,
}

// AtRest answers the services that only read, from a data directory that no host runs
// on. It changes nothing in it: the journals are read from the files of the server, and
// the tables in a copy that is brought up to the journals. No host can start meanwhile.
type AtRest struct {
	host    *Host // of which only what reads is there
	answers map[string]func(context.Context, call) proto.Message
	filled  sync.Once
	fillErr error
	tables  string // directory of the copy
}

// ReadAtRest opens the data directory for reading. Secrets are taken out of what it
// answers; roles may be nil for the built-in ones. It returns data/manifest where there
// is no data directory, and data/locked where a host has it.
func ReadAtRest(ctx context.Context, dir string, secrets []string, known *roles.Set) (*AtRest, error) {
	d, err := datadir.OpenAtRest(dir)
	if err != nil {
		return nil, err
	}
	c := Config{Data: dir, Roles: known}
	h := &Host{config: c, dir: d, secrets: redact.Of(secrets), log: slog.New(slog.DiscardHandler), roles: c.roles()}
	h.ctx, h.cancel = context.WithCancel(ctx)
	h.states = &folds{host: h, made: map[string]*project.State{}}
	a := &AtRest{host: h}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.answers = h.services()
	return a, nil
}

func (a *AtRest) open(ctx context.Context) error {
	h := a.host
	snapshots, err := atrest.OpenSnapshots(h.dir.Path())
	if err != nil {
		return err
	}
	if h.blobs, err = atrest.OpenBlobs(h.dir.Path()); err != nil {
		return err
	}
	for i := range h.dir.Manifest().Partitions {
		log, err := atrest.OpenLog(h.dir.Path(), i)
		if err != nil {
			return err
		}
		h.logs = append(h.logs, log)
	}
	h.history = history{logs: h.logs, partition: h.partition, cut: h.cutOf}
	h.pasts = newPasts(h.history, snapshots, h.baseOf, h.coreConfig)
	return a.register(ctx, snapshots)
}

// register finds the projects of all journals.
func (a *AtRest) register(ctx context.Context, snapshots journal.Snapshots) error {
	ids := map[string]bool{}
	for _, log := range a.host.logs {
		index, err := snapshots.Index(ctx, log.Partition())
		if err != nil {
			return err
		}
		for id := range index.GetProjects() {
			ids[id] = true
		}
		base, err := a.host.baseOf(ctx, log.Partition())
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
	a.host.known.Add(slices.Sorted(maps.Keys(ids))...)
	return nil
}

// Close gives the directory free.
func (a *AtRest) Close() error {
	a.host.cancel()
	if a.host.projection != nil {
		_ = a.host.projection.Close()
	}
	if a.tables != "" {
		_ = os.RemoveAll(a.tables)
	}
	return a.host.dir.Close()
}

// Newest returns the newest batch of all journals, nil where nothing was recorded.
func (a *AtRest) Newest(ctx context.Context) (newest *loomv1.Batch, err error) {
	for _, log := range a.host.logs {
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

// Ask answers a service as a host would its operator. It returns host/not-running for
// one that needs a host.
func (a *AtRest) Ask(ctx context.Context, service string, request []byte) ([]byte, error) {
	tables, can := readAtRest[service]
	if !can {
		return nil, fault.New("host/not-running", "%s needs a host that runs", service).At(a.host.dir.Path()).Want("start one with: loom up")
	}
	if tables {
		if a.filled.Do(func() { a.fillErr = a.fill(ctx) }); a.fillErr != nil {
			return nil, a.fillErr
		}
	}
	reply := a.answers[service](ctx, call{data: request, from: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR}})
	return proto.Marshal(a.host.cleanAnswer(reply))
}

// fill opens a copy of the tables and has the journals followed into it. What they lack
// is made from the journals, all of it where there are none that can be used.
func (a *AtRest) fill(ctx context.Context) (err error) {
	if a.tables, err = os.MkdirTemp("", "loom-tables-"); err != nil {
		return fault.New("data/permissions", "there is no place for a copy of the tables").Because(err)
	}
	path := filepath.Join(a.tables, "projection.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(a.host.dir.Path("projection.db"+suffix), path+suffix); err != nil {
			return fault.New("data/permissions", "the tables cannot be copied").At(a.tables).Because(err)
		}
	}
	if a.host.projection, _, err = projection.Open(ctx, path); err != nil {
		return err
	}
	a.host.projection.SetBases(a.host.baseBefore)
	for _, log := range a.host.logs {
		go func() { _ = a.host.projection.Follow(a.host.ctx, log) }() // it ends with Close
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
	host *Host
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
	if !f.host.known.Has(id) {
		return nil, fault.New("project/unknown", "project %q is not registered on this deployment", id).At("project").Got(id)
	}
	s, _, err := f.host.pasts.project(f.host.ctx, id, moment{})
	if err == nil {
		f.made[id] = s
	}
	return s, err
}

// Look implements states.
func (f *folds) Look(_ context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	s, err := f.state(q.GetProject())
	if err != nil {
		return nil, err
	}
	return s.Look(v, q)
}

// Ask implements states.
func (f *folds) Ask(_ context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	s, err := f.state(q.GetProject())
	if err != nil {
		return nil, err
	}
	return s.Ask(q)
}
