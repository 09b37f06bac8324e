package damage

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	flips = flag.Int("flips", 0, "bits to flip in TestP3_Long")
	cuts  = flag.Int("cuts", 0, "files to cut in TestP3_Long")
	gone  = flag.Int("files", 0, "files to delete or put back as they were in TestP3_Long")
	seed  = flag.Uint64("seed", 1, "of TestP3_Long")
)

const within = 2 * time.Minute

// world is a sound data directory that a host has used twice.
type world struct {
	config host.Config
	sound  string                  // as the second host left it
	old    string                  // as the first one did
	heads  map[string]journal.Head // of the sound one, by stream
	// The journals of project shop and of the deployment's own project.
	journal, deployment string

	beads  []string
	events int      // that the second host could read
	files  []string // all of the sound one that are worth to be damaged
}

// nothing is the answer of an agent that finds no error to mend.
func nothing(*model.Request) (*model.Response, error) {
	return &model.Response{Text: "nothing is wrong", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
		Tool: turn.FinishName, Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
	}}}, nil
}

// newWorld runs a host twice, each with work that is done to its end.
func newWorld(t *testing.T) *world {
	t.Helper()
	longtest.Skip(t)
	repository := filepath.Join(t.TempDir(), "shop")
	if err := git.Create(t.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	w := &world{config: host.Config{
		Data: filepath.Join(t.TempDir(), "data"), Model: scripted.New("quick", nothing), CEOKey: filepath.Join(t.TempDir(), "ceo.nk"),
		Unsandboxed: true, SnapshotEvery: 10, Projects: []host.Project{{ID: "shop", Repository: repository}},
	}}
	w.old, w.sound = filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "sound")
	w.work(t, "first", w.old)
	w.work(t, "second", w.sound)
	report := verify(t, w.sound)
	if !report.Sound || report.Blobs == 0 {
		t.Fatalf("what a host left is not sound: %v, %d blobs", report.Err(), report.Blobs)
	}
	w.heads = heads(t, w.sound)
	journals(t, w.sound, func(stream string, _ uint64, b *loomv1.Batch) {
		switch b.Events[0].Project {
		case "shop":
			w.journal = stream
		case project.System:
			w.deployment = stream
		}
	})
	w.files = w.list(t)
	return w
}

// work has a bead done, stops the host, and copies its directory.
func (w *world) work(t *testing.T, goal, to string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	h, err := host.Start(ctx, w.config)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, h)
	answer, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: goal, Type: loomv1.BeadType_BEAD_TYPE_BUG})
	if err != nil {
		t.Fatal(err)
	}
	done := errors.New("done")
	err = c.Follow(ctx, &loomv1.NoticesRequest{Bead: answer.Bead}, true, func(n *loomv1.Notice) error {
		if n.Event.GetExecutionEnded() != nil {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatalf("bead %s did not end: %v", answer.Bead, err)
	}
	w.beads = beads(ctx, t, c)
	if w.events, err = events(ctx, c); err != nil || w.events == 0 {
		t.Fatalf("%d events, %v", w.events, err)
	}
	c.Close()
	h.Stop(context.WithoutCancel(ctx))
	copyTree(t, w.config.Data, to)
}

func connect(t *testing.T, h *host.Host) *client.Client {
	t.Helper()
	nc, err := h.Connect("operator")
	if err != nil {
		t.Fatal(err)
	}
	return client.New(nc)
}

// beads lists what a host knows, in words.
func beads(ctx context.Context, t *testing.T, c *client.Client) (all []string) {
	t.Helper()
	v, err := c.Bead(ctx, &loomv1.Query{Project: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range v.Beads {
		all = append(all, fmt.Sprint(b.Id, b.Status, b.Goal))
	}
	slices.Sort(all)
	return all
}

// list names the files that hold something, relative to the directory. The
// lock and what is made anew at each start are left out.
func (w *world) list(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(w.sound, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(w.sound, path)
		top, _, _ := strings.Cut(name, string(filepath.Separator))
		switch {
		case err != nil || d.IsDir() || slices.Contains([]string{"lock", "creds", "git", "scratch", "host.json"}, top):
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 0 {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700)
	}); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, path string) *vault.Report {
	t.Helper()
	s, err := vault.Open(path)
	if err != nil {
		return &vault.Report{Damage: []*fault.Error{fault.From(err)}}
	}
	defer func() { _ = s.Close() }()
	report, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// heads reads the newest batch of every journal, without the vault.
func heads(t *testing.T, path string) map[string]journal.Head {
	t.Helper()
	all := map[string]journal.Head{}
	journals(t, path, func(stream string, seq uint64, b *loomv1.Batch) {
		all[stream] = journal.Head{Sequence: seq, Hash: b.Hash}
	})
	return all
}

func journals(t *testing.T, path string, visit func(stream string, seq uint64, b *loomv1.Batch)) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(path, "jetstream", "CORE", "streams", "LOOM_J_*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		s, err := streamfile.Open(dir)
		if err != nil {
			continue
		}
		_, _ = s.Scan(func(r streamfile.Record) error {
			b, err := journal.Decode(r.Sequence, r.Data)
			if err == nil {
				visit(s.Name(), r.Sequence, b)
			}
			return err
		})
	}
}

// outcome is what became of damage.
type outcome string

const (
	named    outcome = "named by verify and at the start"
	latent   outcome = "named by verify; the start did not need it"
	atStart  outcome = "named at the start"
	unharmed outcome = "repaired or harmless"
	silent   outcome = "SILENT"
)

// suffer verifies and starts a host on a damaged directory and judges both.
func (w *world) suffer(t *testing.T, path string) (outcome, string) {
	t.Helper()
	report := verify(t, path)
	told := report.Err()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := w.config
	c.Data, c.Projects = path, nil
	h, err := host.Start(ctx, c)
	if err != nil {
		switch {
		case told == nil && fault.Status(err) != fault.Integrity:
			return silent, fmt.Sprintf("refused without a name for it: %v", err)
		case told != nil:
			return named, told.Error()
		}
		return atStart, err.Error()
	}
	cl := connect(t, h)
	now := beads(ctx, t, cl)
	cl.Close()
	h.Stop(context.WithoutCancel(ctx))
	switch lost := w.lost(t, path); {
	case told != nil && slices.Equal(now, w.beads):
		return latent, told.Error()
	case lost != "":
		return silent, lost
	case !slices.Equal(now, w.beads):
		return silent, fmt.Sprintf("the host knows %v, and knew %v", now, w.beads)
	}
	return unharmed, ""
}

// lost says which acknowledged batch is not where it was.
func (w *world) lost(t *testing.T, path string) string {
	t.Helper()
	found := map[string]bool{}
	journals(t, path, func(stream string, seq uint64, b *loomv1.Batch) {
		h := w.heads[stream]
		found[stream] = found[stream] || seq == h.Sequence && bytes.Equal(b.Hash, h.Hash)
	})
	for stream, h := range w.heads {
		if !found[stream] {
			return fmt.Sprintf("%s does not have batch %d any more", stream, h.Sequence)
		}
	}
	return ""
}

// harm is one piece of damage to one file.
type harm struct {
	name string
	do   func(t *testing.T, path string)
}

func (w *world) flip(file string, part float64, bit int) harm {
	return harm{fmt.Sprintf("flip bit %d at %.0f%% of %s", bit, part*100, file), func(t *testing.T, path string) {
		change(t, path, file, func(data []byte) []byte {
			data[min(len(data)-1, int(part*float64(len(data))))] ^= 1 << bit
			return data
		})
	}}
}

func (w *world) cut(file string, part float64) harm {
	return harm{fmt.Sprintf("cut %s at %.0f%%", file, part*100), func(t *testing.T, path string) {
		change(t, path, file, func(data []byte) []byte { return data[:int(part*float64(len(data)))] })
	}}
}

func (w *world) remove(file string) harm {
	return harm{"delete " + file, func(t *testing.T, path string) {
		if err := os.Remove(filepath.Join(path, file)); err != nil {
			t.Fatal(err)
		}
	}}
}

// putBack replaces a file by what it was after the first host.
func (w *world) putBack(file string) harm {
	return harm{"put an old " + file + " back", func(t *testing.T, path string) {
		data, err := os.ReadFile(filepath.Join(w.old, file))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		change(t, path, file, func([]byte) []byte { return data })
	}}
}

func change(t *testing.T, path, file string, f func([]byte) []byte) {
	t.Helper()
	name := filepath.Join(path, file)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, f(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestP3_NoDamageIsSilent goes through a fixed list.
func TestP3_NoDamageIsSilent(t *testing.T) {
	w := newWorld(t)
	journalFile := filepath.Join("jetstream", "CORE", "streams", w.journal, "msgs", "1.blk")
	index := filepath.Join(filepath.Dir(journalFile), "index.db")
	meta := filepath.Join(filepath.Dir(filepath.Dir(journalFile)), "meta.inf")
	blobs := filepath.Join("jetstream", "CORE", "streams", "OBJ_LOOM_BLOB", "msgs", "1.blk")
	snapshots := filepath.Join("jetstream", "CORE", "streams", "OBJ_LOOM_SNAP", "msgs", "1.blk")
	w.try(t, []harm{
		w.flip(journalFile, 0.03, 1), w.flip(journalFile, 0.5, 7), w.flip(journalFile, 0.999, 0), w.cut(journalFile, 0.5), w.cut(journalFile, 0.999),
		w.remove(journalFile), w.putBack(journalFile), w.flip(index, 0.5, 3), w.remove(index), w.putBack(index),
		w.flip(meta, 0.5, 1), w.remove(meta), w.flip(blobs, 0.2, 2), w.cut(blobs, 0.6), w.flip(snapshots, 0.8, 4), w.remove(snapshots),
		w.flip("manifest.json", 0.4, 0), w.cut("manifest.json", 0.7), w.remove("manifest.json"), w.putBack("manifest.json"),
		w.flip(filepath.Join("jetstream", "TASKS", "streams", "TASKS", "obs", "intake", "meta.inf"), 0.2, 6), // obs/intake
		w.flip("heads", 0.3, 1), w.cut("heads", 0.5), w.remove("heads"), w.putBack("heads"),
		w.flip("projection.db", 0.01, 6), w.cut("projection.db", 0.4), w.remove("projection.db"), w.putBack("projection.db"),
	})
}

// try does each harm to a copy of its own and prints a table.
func (w *world) try(t *testing.T, all []harm) {
	t.Helper()
	counts := map[outcome]int{}
	for _, h := range all {
		path := filepath.Join(t.TempDir(), "data")
		copyTree(t, w.sound, path)
		h.do(t, path)
		got, why := w.suffer(t, path)
		counts[got]++
		if got == silent {
			t.Errorf("%s: %s", h.name, why)
		}
		t.Logf("%-34s %s (%.160s)", got, h.name, why)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []outcome{named, latent, atStart, unharmed, silent} {
		t.Logf("%4d %s", counts[o], o)
	}
}

// TestP3_Long draws damage over all files.
func TestP3_Long(t *testing.T) {
	if *flips+*cuts+*gone == 0 {
		t.Log("nothing is asked for: go test ./test/damage -run Long -args -flips 500 -cuts 100 -files 50")
		return
	}
	w := newWorld(t)
	r := rand.New(rand.NewPCG(*seed, 0))
	file := func() string { return w.files[r.IntN(len(w.files))] }
	var all []harm
	for range *flips {
		all = append(all, w.flip(file(), r.Float64(), r.IntN(8)))
	}
	for range *cuts {
		all = append(all, w.cut(file(), r.Float64()))
	}
	for i := range *gone {
		if i%2 == 0 {
			all = append(all, w.remove(file()))
		} else {
			all = append(all, w.putBack(file()))
		}
	}
	w.try(t, all)
}
