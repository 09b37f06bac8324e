package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/token"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// site is a deployment that serves HTTP, and a token for it.
func site(t *testing.T, projects ...string) (d *deployment, secret string) {
	t.Helper()
	d = newDeployment(t, projects...)
	d.host.Load().Stop(t.Context())
	d.config.HTTP = "127.0.0.1:0"
	d.start()
	_, secret, err := token.Create(d.config.Data, "reader", token.Scopes(), 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d, secret
}

// ask sends a request to the host that runs just now.
func (d *deployment) ask(ctx context.Context, secret, path, last string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.host.Load().HTTP()+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// overHTTP reads a stream until so many bytes have come, and keeps the id it saw
// last, as a browser does.
func (f *follower) overHTTP(ctx context.Context, secret string, most int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reply, err := f.ask(ctx, secret, "/api/v1/events", f.cursor)
	if err != nil {
		return
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return // it asked too often, or the host stops
	}
	r := bufio.NewReader(io.LimitReader(reply.Body, most))
	id, data := "", ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case name == "id":
			id = value
		case name == "data":
			data = value
		case line == "\n":
			if data != "" {
				n := &loomv1.Notice{}
				if err := protojson.Unmarshal([]byte(data), n); err != nil {
					f.t.Errorf("data %q: %v", data, err)
				}
				f.got[n.Position.Partition] = append(f.got[n.Position.Partition], notice.FormatPosition(n.Position))
			}
			if id != "" {
				f.cursor = id
			}
			id, data = "", ""
		}
	}
}

// A reader that goes to and fro between NATS and HTTP, and is cut off again and
// again by its connection and by a host that stops, sees every event once: the
// cursor of one is the cursor of the other.
func TestBYD01_OneCursorForNATSAndHTTP(t *testing.T) {
	longtest.Skip(t)
	d, secret := site(t, "attic", "shop")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	const beads = 8
	var filing, running sync.WaitGroup
	filing.Go(func() {
		for i := range beads {
			d.submit(ctx, &loomv1.Submission{Project: d.config.Projects[i%2].ID, Process: "auto-bug-workflow", Goal: fmt.Sprint("mend ", i), IdempotencyKey: fmt.Sprint(i)})
			if i == beads/2 {
				d.host.Load().Stop(ctx)
				d.start()
			}
		}
	})
	reading, stop := context.WithCancel(ctx)
	var readers []*follower
	for seed := range uint64(3) {
		f := &follower{deployment: d, rng: rand.New(rand.NewPCG(seed, 6)), q: &loomv1.NoticesRequest{}, got: map[uint32][]string{}}
		readers = append(readers, f)
		running.Go(func() {
			for reading.Err() == nil {
				if f.rng.IntN(2) == 0 {
					f.once(reading, 1+f.rng.IntN(40), true)
				} else {
					f.overHTTP(reading, secret, 1+f.rng.Int64N(60_000))
				}
				f.dropped++
			}
		})
	}
	filing.Wait()
	for n := d.ended(); n < beads && ctx.Err() == nil; n = d.ended() {
		f := &follower{deployment: d, q: &loomv1.NoticesRequest{Kinds: []string{"execution-ended"}}, got: map[uint32][]string{}}
		f.once(ctx, n+1, true)
	}
	stop()
	running.Wait()
	if n := d.ended(); n < beads {
		t.Errorf("%d of %d executions ended in time", n, beads)
	}
	for i, f := range readers {
		f.once(ctx, -1, false)
		for p, want := range d.truth(f.q) {
			if !slices.Equal(f.got[p], want) {
				t.Errorf("reader %d, %d connections, partition %d:\n%v\nwant\n%v", i, f.dropped, p, f.got[p], want)
			}
		}
		if f.dropped < 4 {
			t.Errorf("reader %d had %d connections", i, f.dropped)
		}
	}
}

// What the metrics say has what was acknowledged before they were asked.
func TestWF14_MetricsSeeWhatWasAcknowledged(t *testing.T) {
	longtest.Skip(t)
	d, secret := site(t, "shop")
	for i := range 5 {
		d.submit(t.Context(), &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: fmt.Sprint("mend ", i)})
		var got *loomv1.MetricsReply
		err := d.call(t.Context(), "operator", func(ctx context.Context, c *client.Client) (err error) {
			got, err = c.Metrics(ctx, &loomv1.MetricsRequest{Project: "shop"})
			return err
		})
		if err != nil || len(got.GetWorkflows()) != 1 || got.Workflows[0].GetStarted() != uint64(i+1) || got.AsOf == nil {
			t.Fatalf("after %d beads: %v, %v", i+1, got, err)
		}
	}
	reply, err := d.ask(t.Context(), secret, "/api/v1/metrics/workflows?project=shop", "")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	m := &loomv1.MetricsReply{}
	if err := protojson.Unmarshal(text, m); err != nil || reply.StatusCode != http.StatusOK || m.GetWorkflows()[0].GetStarted() != 5 {
		t.Errorf("over HTTP: %d %s, %v", reply.StatusCode, text, err)
	}
	for _, q := range []struct {
		req  *loomv1.MetricsRequest
		want string
	}{
		{&loomv1.MetricsRequest{Project: "shpo"}, "project/unknown"},
		{&loomv1.MetricsRequest{Process: "A B"}, "id/malformed"},
		{&loomv1.MetricsRequest{Process: "auto-bug-work"}, "process/unknown"},
		{&loomv1.MetricsRequest{From: m.AsOf, To: m.AsOf}, "usage/argument"},
	} {
		err := d.call(t.Context(), "operator", func(ctx context.Context, c *client.Client) error {
			_, err := c.Metrics(ctx, q.req)
			return err
		})
		if fault.Code(err) != q.want {
			t.Errorf("Metrics(%v) = %v, want %s", q.req, err, q.want)
		}
	}
}

// Scrapes show what the host does, and nothing that a task says.
func TestHTTP_Scrape(t *testing.T) {
	longtest.Skip(t)
	d, secret := site(t, "shop")
	d.submit(t.Context(), &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: "a goal nobody should see here"})
	for d.ended() == 0 {
		f := &follower{deployment: d, q: &loomv1.NoticesRequest{Kinds: []string{"execution-ended"}}, got: map[uint32][]string{}}
		f.once(t.Context(), 1, true)
	}
	if err := d.host.Load().tables.CaughtUp(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	reply, err := d.ask(t.Context(), secret, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		`loom_beads_filed_total{type="task"} 1`, `loom_executions_started_total{process="auto-bug-workflow"} 1`,
		`loom_executions_ended_total{process="auto-bug-workflow",status="completed"} 1`, `loom_executions_running{process="auto-bug-workflow"} 0`,
		`loom_attempts_ended_total{node="triage",outcome="success",process="auto-bug-workflow"} 1`, `loom_attempts_queued{role="qa-engineer"} 0`,
		`loom_approvals_open{kind="approval"} 0`, `loom_agents{role="qa-engineer",state="desired"} 2`, `loom_model_calls_total{process="auto-bug-workflow"} 1`,
		fmt.Sprintf(`loom_projection_lag_batches{partition="%d"} 0`, d.host.Load().journals.Partition("shop")),
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	for _, family := range families {
		if !strings.Contains(string(text), "# TYPE "+family.Name+" ") && family.Name != "loom_escalations_total" && !strings.HasPrefix(family.Name, "loom_model") {
			t.Errorf("/metrics has nothing of %s", family.Name)
		}
	}
	if strings.Contains(string(text), "nobody should see") {
		t.Error("/metrics tells a goal")
	}
}

// Where the address is taken, a host that was told to goes on without HTTP, and
// any other does not start.
func TestHTTP_AnAddressThatIsTaken(t *testing.T) {
	longtest.Skip(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newDeployment(t, "shop")
	d.host.Load().Stop(t.Context())
	d.config.HTTP = l.Addr().String()
	if _, err := Start(t.Context(), d.config); fault.Code(err) != "host/port" {
		t.Errorf("Start = %v, want host/port", err)
	}
	d.config.HTTPIfFree = true
	d.start()
	if url := d.host.Load().HTTP(); url != "" {
		t.Errorf("it serves %s", url)
	}
	if _, err := os.Stat(filepath.Join(d.config.Data, "http.url")); err == nil {
		t.Error("it says where HTTP is")
	}
}
