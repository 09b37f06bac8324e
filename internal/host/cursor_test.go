package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// deployment is a host that stops and starts again under its clients.
type deployment struct {
	t      *testing.T
	config Config
	host   atomic.Pointer[Host]
}

func newDeployment(t *testing.T, projects ...string) *deployment {
	c := Config{
		Data: t.TempDir(), CEOKey: filepath.Join(t.TempDir(), "ceo.nk"), Unsandboxed: true,
		Model: scripted.New("nothing", func(*model.Request) (*model.Response, error) {
			return &model.Response{Text: "nothing is wrong", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
				Tool: turn.FinishName, Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
			}}}, nil
		}),
	}
	for _, id := range projects {
		repository := filepath.Join(t.TempDir(), id)
		if err := git.Create(t.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
			t.Fatal(err)
		}
		c.Projects = append(c.Projects, Project{ID: id, Repository: repository})
	}
	d := &deployment{t: t, config: c}
	d.start()
	t.Cleanup(func() { d.host.Load().Stop(context.Background()) })
	return d
}

func (d *deployment) start() {
	h, err := Start(d.t.Context(), d.config)
	if err != nil {
		d.t.Fatal(err)
	}
	d.host.Store(h)
}

// call calls f with a client of the host that runs just now. The connection is
// lost when that host stops.
func (d *deployment) call(ctx context.Context, as string, f func(context.Context, *client.Client) error) error {
	h := d.host.Load()
	nc, err := h.Connect(as)
	if err != nil {
		return err
	}
	c := client.New(nc)
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	return f(ctx, c)
}

// submit files a bead, however often it must be tried.
func (d *deployment) submit(ctx context.Context, s *loomv1.Submission) {
	for ctx.Err() == nil {
		err := d.call(ctx, "operator", func(ctx context.Context, c *client.Client) error { _, err := c.Submit(ctx, s); return err })
		if err == nil {
			return
		}
	}
	d.t.Errorf("%s was never filed", s.Goal)
}

// truth is what the journals have of what q asks for, by partition.
func (d *deployment) truth(q *loomv1.NoticesRequest) map[uint32][]string {
	all := map[uint32][]string{}
	for _, log := range d.host.Load().journals.Logs {
		err := log.Read(d.t.Context(), 1, func(seq uint64, b *loomv1.Batch) error {
			for i, e := range b.Events {
				if wanted(q, e) {
					at := &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
					all[b.Partition] = append(all[b.Partition], notice.FormatPosition(at))
				}
			}
			return nil
		})
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return all
}

// follower reads what it asks for over one connection after another. All that
// it keeps between two is the text of its cursor.
type follower struct {
	*deployment
	rng     *rand.Rand
	q       *loomv1.NoticesRequest
	cursor  string
	got     map[uint32][]string
	dropped int
}

var errDrop = errors.New("the connection is lost")

// read reads until ctx ends, dropping its connection after every few notices.
func (f *follower) read(ctx context.Context) {
	for ctx.Err() == nil {
		f.once(ctx, 1+f.rng.IntN(40), true)
		f.dropped++
	}
}

// once reads over one connection, at most so many notices.
func (f *follower) once(ctx context.Context, most int, live bool) {
	_ = f.call(ctx, "anonymous", func(ctx context.Context, c *client.Client) error {
		var err error
		if f.q.After, err = notice.ParseCursor(f.cursor); err != nil {
			f.t.Error(err)
			return err
		}
		return c.Follow(ctx, f.q, live, func(n *loomv1.Notice) error {
			p := n.Position.Partition
			f.got[p] = append(f.got[p], notice.FormatPosition(n.Position))
			if f.q.After, err = notice.ParseCursor(f.cursor); err != nil {
				return err
			}
			f.cursor = notice.FormatCursor(notice.Advance(f.q.After, n.Position))
			if most--; most == 0 {
				c.Close()
				return errDrop
			}
			return nil
		})
	})
}

// Whoever resumes from a cursor sees every event that it asked for once, and
// those of a partition in order: over connections that are lost at any moment,
// and hosts that stop and start.
func TestBYD01_CursorsResumeOverLostConnectionsAndRestarts(t *testing.T) {
	longtest.Skip(t)
	d := newDeployment(t, "attic", "crate", "shop")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	const beads = 12
	file := func(i int) {
		project := d.config.Projects[i%3].ID
		d.submit(ctx, &loomv1.Submission{Project: project, Process: "auto-bug-workflow", Goal: fmt.Sprintf("mend %d", i), IdempotencyKey: fmt.Sprint(i)})
	}
	for i := range 3 { // so that there is what the readers ask for
		file(i)
	}
	var readers []*follower
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var running, filing sync.WaitGroup
	for i, q := range []*loomv1.NoticesRequest{
		{},
		{Limit: 3},
		{Project: "shop"},
		{Bead: "crate-1", Project: "crate"},
		{Project: "attic", Execution: "attic-1-x1"},
		{Kinds: []string{"bead-filed", "execution-ended"}, Limit: 2},
	} {
		f := &follower{deployment: d, rng: rand.New(rand.NewPCG(uint64(i), 5)), q: q, got: map[uint32][]string{}}
		readers = append(readers, f)
		running.Go(func() { f.read(reading) })
	}
	filing.Go(func() {
		for i := 3; i < beads; i++ {
			file(i)
			if i == beads/2 {
				d.host.Load().Stop(ctx)
				d.start()
			}
		}
	})
	filing.Wait()
	for n := d.ended(); n < beads && ctx.Err() == nil; n = d.ended() {
		f := &follower{deployment: d, q: &loomv1.NoticesRequest{Kinds: []string{"execution-ended"}}, got: map[uint32][]string{}}
		f.once(ctx, n+1, true) // until there is one more
	}
	stop()
	running.Wait()
	for i, f := range readers {
		f.q.Limit = 0
		f.once(ctx, -1, false) // what came since it last read
		for p, want := range d.truth(f.q) {
			if !slices.Equal(f.got[p], want) {
				t.Errorf("reader %d, %d connections, partition %d:\n%v\nwant\n%v", i, f.dropped, p, f.got[p], want)
			}
		}
		if f.dropped < 2 {
			t.Errorf("reader %d had %d connections", i, f.dropped)
		}
	}
}

// ended is how many executions have ended.
func (d *deployment) ended() int {
	n := 0
	for _, list := range d.truth(&loomv1.NoticesRequest{Kinds: []string{"execution-ended"}}) {
		n += len(list)
	}
	return n
}

// A follower whose connection was closed for good is told, and does not wait for
// a host that it cannot reach any more.
func TestSUB04_FollowingEndsWithItsConnection(t *testing.T) {
	longtest.Skip(t)
	d := newDeployment(t, "shop")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := d.call(ctx, "anonymous", func(ctx context.Context, c *client.Client) error {
		return c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(*loomv1.Notice) error {
			c.Close()
			return nil
		})
	})
	if fault.Code(err) != "host/unavailable" || ctx.Err() != nil {
		t.Errorf("Follow over a closed connection = %v, %v; want host/unavailable", err, ctx.Err())
	}
}

// wanted says whether an event is of what is asked for.
func wanted(q *loomv1.NoticesRequest, e *loomv1.Event) bool {
	return (q.Project == "" || q.Project == e.Project) && (q.Bead == "" || q.Bead == e.Bead) && (q.Execution == "" || q.Execution == e.Execution) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, notice.Kind(e)))
}
