package damage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// kind is a kind of file that a data directory has.
type kind struct {
	name, file string
	part       float64 // where in the file the bit is
	// truth says that nothing else holds what the file does: a bit that is
	// flipped is named, and the start refused. Of others a start makes the file
	// anew, or refuses it by name.
	truth bool
	// running says that the file is checked beside a running host.
	running bool
	// refuses says that a start without it is refused, though it is no truth.
	refuses bool
	// living says that only a running host has the file, and who was killed leaves it.
	living bool
}

// kinds returns the kinds of files of the world.
func (w *world) kinds() []kind {
	stream := w.journal
	in := func(account, stream string, parts ...string) string {
		return filepath.Join(append([]string{"jetstream", account, "streams", stream}, parts...)...)
	}
	return []kind{
		{"a journal's block, at its beginning", in("CORE", stream, "msgs", "1.blk"), 0.02, true, true, false, false},
		{"a journal's block, in the middle", in("CORE", stream, "msgs", "1.blk"), 0.5, true, true, false, false},
		{"a journal's index", in("CORE", stream, "msgs", "index.db"), 0.5, false, false, false, false},
		{"a journal's description", in("CORE", stream, "meta.inf"), 0.5, true, true, false, false},
		{"the checksum of a journal's description", in("CORE", stream, "meta.sum"), 0.5, false, true, false, false},
		{"blobs", in("CORE", "OBJ_LOOM_BLOB", "msgs", "1.blk"), 0.3, true, true, false, false},
		{"the blobs' index", in("CORE", "OBJ_LOOM_BLOB", "msgs", "index.db"), 0.5, false, false, false, false},
		{"snapshots", in("CORE", "OBJ_LOOM_SNAP", "msgs", "1.blk"), 0.7, false, false, false, false},
		{"the projection", "projection.db", 0.01, false, false, false, false},
		{"the projection's log", "projection.db-wal", 0.5, false, false, false, true},
		{"where the host is", "host.json", 0.5, false, false, false, true},
		{"the manifest", "manifest.json", 0.4, false, false, true, false},
		{"the marks", "heads", 0.3, false, false, false, false},
		{"the identities", "identities.json", 0.5, false, false, false, false},
		{"the tokens", "tokens.json", 0.5, false, false, false, false},
		{"the operator's key", filepath.Join("creds", "operator.nk"), 0.5, false, false, false, false},
	}
}

// blocks returns the digests of all blocks of truth below a directory.
func blocks(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(path, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		stream := filepath.Base(filepath.Dir(filepath.Dir(name)))
		if stream == "OBJ_LOOM_SNAP" || stream == "LOOM_PROOF" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(path, name)
		all[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return all
}

// enrolled is a sound directory that has identities and tokens besides.
func (w *world) enrolled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "enrolled")
	copyTree(t, w.sound, path)
	if _, _, err := identity.Add(t.Context(), identity.NewFile(path), identity.Request{Name: "ci", Kind: identity.Publisher}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := token.Create(path, "reader", []string{"read"}, time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	return path
}

// begin starts a host on a directory.
func (w *world) begin(t *testing.T, path string, change func(*host.Config)) (*host.Host, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := w.config
	c.Data, c.Projects = path, nil
	if change != nil {
		change(&c)
	}
	return host.Start(ctx, c)
}

// TestP3_OneFlippedBitInEachKindOfFileBeforeAStart flips a bit of a directory
// that was stopped, and of one that was killed. What is truth is refused by name,
// and its blocks are left as they are, also when the start is tried again; what is
// not is made anew, or refused by name.
func TestP3_OneFlippedBitInEachKindOfFileBeforeAStart(t *testing.T) {
	w := newWorld(t)
	stopped := w.enrolled(t)
	for how, from := range map[string]string{"stopped": stopped, "killed": w.killed(t, stopped)} {
		for _, k := range w.kinds() {
			if k.living && how == "stopped" {
				continue
			}
			t.Run(how+"/"+k.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "data")
				copyTree(t, from, path)
				w.flip(k.file, k.part, 2).do(t, path)
				before := blocks(t, path)
				for try := range 2 {
					h, err := w.begin(t, path, nil)
					if err == nil {
						w.works(t, h)
						if k.truth || k.refuses {
							t.Errorf("start %d goes on", try+1)
						}
						return
					}
					if !k.truth && !k.refuses {
						t.Errorf("start %d is refused: %v", try+1, err)
					}
					if fault.Status(err) != fault.Integrity && fault.Code(err) != "data/manifest" || !strings.Contains(err.Error(), nameOf(k.file)) {
						t.Errorf("start %d: %v does not name %s", try+1, err, nameOf(k.file))
					}
					if now := blocks(t, path); !maps.Equal(now, before) {
						t.Errorf("start %d, which was refused, has changed blocks", try+1)
					}
				}
			})
		}
	}
}

// nameOf is what a refusal calls a file: by its stream, or its own name.
func nameOf(file string) string {
	if _, rest, ok := strings.Cut(file, "streams"+string(filepath.Separator)); ok {
		stream, _, _ := strings.Cut(rest, string(filepath.Separator))
		return stream
	}
	return filepath.Base(file)
}

// killed is what a host has on its disk while it runs: what a kill would leave.
func (w *world) killed(t *testing.T, from string) string {
	t.Helper()
	path, left := filepath.Join(t.TempDir(), "running"), filepath.Join(t.TempDir(), "killed")
	copyTree(t, from, path)
	h, err := w.begin(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop(context.WithoutCancel(t.Context()))
	w.works(t, h, "keep it running")
	copyLive(t, path, left)
	if err := os.Remove(filepath.Join(left, "lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return left
}

// copyLive is copyTree of what a host runs on, without its scratch files. What goes by
// the journals is copied before them, and what they go by after them, as if it had
// been copied in one instant.
func copyLive(t *testing.T, from, to string) {
	t.Helper()
	for turn := range 4 {
		copyPart(t, from, to, turn)
	}
}

// turnOf is when a file is copied: files beside the streams, snapshots, journals, the
// other streams.
func turnOf(rel string) int {
	switch {
	case !strings.HasPrefix(rel, "jetstream"):
		return 0
	case strings.Contains(rel, "OBJ_LOOM_SNAP"):
		return 1
	case strings.Contains(rel, "LOOM_J_"):
		return 2
	}
	return 3
}

func copyPart(t *testing.T, from, to string, turn int) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile
		case err != nil:
			return err
		case rel == "scratch" || rel == filepath.Join("git", "worktrees"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular() || turnOf(rel) != turn:
			return nil
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// works checks that a host knows what it should and takes new work, and stops it
// unless it is to run on.
func (w *world) works(t *testing.T, h *host.Host, runOn ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := connect(t, h)
	defer c.Close()
	now := beads(ctx, t, c)
	for _, known := range w.beads {
		if !slices.Contains(now, known) {
			t.Errorf("the host does not know %q", known)
		}
	}
	if _, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "more", Type: loomv1.BeadType_BEAD_TYPE_BUG}); err != nil {
		t.Errorf("the host takes no work: %v", err)
	}
	if len(runOn) == 0 {
		h.Stop(context.WithoutCancel(ctx))
	}
}

// TestP3_ATaskThatWaitsIsNotLostByAFlippedBit has a task in its stream that no
// host has read yet.
func TestP3_ATaskThatWaitsIsNotLostByAFlippedBit(t *testing.T) {
	w := newWorld(t)
	dir, err := datadir.Config{Path: w.sound}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Edge().Request("loom.v1.task.shop", []byte(`{"goal":"it waits"}`), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Close(context.WithoutCancel(t.Context())), dir.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(w.sound, "jetstream", "TASKS", "streams", "TASKS", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the task is in no block: %v", err)
	}
	newest, _ := filepath.Rel(w.sound, files[len(files)-1])
	w.flip(newest, 0.6, 3).do(t, w.sound)
	before := blocks(t, w.sound)
	for range 2 {
		if _, err := w.begin(t, w.sound, nil); fault.Code(err) != "data/damaged" || !strings.Contains(err.Error(), "TASKS") {
			t.Errorf("Start: %v, want damage of TASKS", err)
		}
		if now := blocks(t, w.sound); !maps.Equal(now, before) {
			t.Error("a start that was refused has changed blocks")
		}
	}
}

// TestP3_TheCEOsKeyIsRefusedWithAFlippedBit goes through all bits of the seed: a
// key that is another is not used.
func TestP3_TheCEOsKeyIsRefusedWithAFlippedBit(t *testing.T) {
	w := newWorld(t)
	sound, err := os.ReadFile(w.config.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	real, err := ceokey.Open(w.config.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	seed := len(strings.TrimSpace(string(sound)))
	for i := range 8 * seed {
		spoilt := slices.Clone(sound)
		spoilt[i/8] ^= 1 << (i % 8)
		if err := os.WriteFile(w.config.CEOKey, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := ceokey.Open(w.config.CEOKey); err == nil && key.Public() != real.Public() { // two bits of the last letter mean nothing
			t.Errorf("bit %d of byte %d is flipped: the key %s is taken", i%8, i/8, key.Public())
		}
	}
}

// TestP3_OneFlippedBitInEachKindOfFileUnderARunningHost flips a bit while a host
// runs. Truth that is damaged is named, by the host itself, which writes nothing
// more to it; whatever is read is right, or refused. After that the directory, as
// a kill and as a stop leave it, is refused by name and its blocks stay as they
// are; of all else the host, and the next, go on.
func TestP3_OneFlippedBitInEachKindOfFileUnderARunningHost(t *testing.T) {
	w := newWorld(t)
	from := w.enrolled(t)
	for _, k := range w.kinds() {
		t.Run(k.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			copyTree(t, from, path)
			h, err := w.begin(t, path, func(c *host.Config) { c.CheckEvery = 50 * time.Millisecond })
			if err != nil {
				t.Fatal(err)
			}
			defer h.Stop(context.WithoutCancel(t.Context()))
			w.flip(k.file, k.part, 2).do(t, path)
			if k.running {
				w.noticed(t, h, k)
			}
			w.readsRight(t, h)
			if !k.running {
				w.works(t, h, "keep it running")
			}
			killed := filepath.Join(t.TempDir(), "killed")
			copyLive(t, path, killed)
			h.Stop(context.WithoutCancel(t.Context()))
			for _, left := range []string{killed, path} {
				w.afterwards(t, left, k)
			}
		})
	}
}

// TestP3_DamageOfTheDeploymentsJournalStopsNoProject flips a bit in the journal of
// the deployment's own project: the host names it, and a project in another journal
// goes on.
func TestP3_DamageOfTheDeploymentsJournalStopsNoProject(t *testing.T) {
	w := newWorld(t)
	if w.deployment == w.journal {
		t.Fatalf("both are in %s", w.journal)
	}
	h, err := w.begin(t, w.sound, func(c *host.Config) { c.CheckEvery = 50 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("jetstream", "CORE", "streams", w.deployment, "msgs", "1.blk")
	w.flip(file, 0.02, 2).do(t, w.sound)
	w.named(t, h, file)
	w.works(t, h)
	if h, err := w.begin(t, w.sound, nil); fault.Code(err) != "data/damaged" || !strings.Contains(err.Error(), w.deployment) {
		t.Errorf("the next start: %v, %v, want data/damaged of %s", h, err, w.deployment)
	}
}

// named waits until the host has named the damage of a file.
func (w *world) named(t *testing.T, h *host.Host, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for len(h.Damage()) == 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("the host does not notice")
		}
	}
	if said := h.Damage()[0]; !strings.Contains(said.Error(), nameOf(file)) {
		t.Errorf("the host says %v, which does not name %s", said, nameOf(file))
	}
}

// noticed waits until the host has named the damage, and writes no more.
func (w *world) noticed(t *testing.T, h *host.Host, k kind) {
	t.Helper()
	w.named(t, h, k.file)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := connect(t, h)
	defer c.Close()
	for { // the partition hears of it at once, and may be at something
		_, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "after the damage"})
		if fault.Status(err) == fault.Integrity {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the host takes work: %v", err)
		}
	}
	reply, err := c.Host(ctx, &loomv1.HostRequest{})
	if err != nil || len(reply.Damage) == 0 || reply.Damage[0].Code == "" {
		t.Errorf("status says nothing of the damage: %v, %v", reply.GetDamage(), err)
	}
}

// readsRight reads all events: they are those that there were, or the read is
// refused.
func (w *world) readsRight(t *testing.T, h *host.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := connect(t, h)
	defer c.Close()
	read, err := events(ctx, c)
	if err == nil && read < w.events {
		t.Errorf("%d events are read of %d, and nothing said", read, w.events)
	}
	if err != nil && fault.Status(err) != fault.Integrity {
		t.Errorf("events are refused with %v", err)
	}
}

// events counts the events of a project that can be read.
func events(ctx context.Context, c *client.Client) (n int, err error) {
	err = c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, false, func(*loomv1.Notice) error { n++; return nil })
	return n, err
}

// afterwards starts a host on what a damaged one has left.
func (w *world) afterwards(t *testing.T, path string, k kind) {
	t.Helper()
	before := blocks(t, path)
	h, err := w.begin(t, path, nil)
	switch {
	case err == nil && k.truth:
		h.Stop(context.WithoutCancel(t.Context()))
		t.Errorf("the next start goes on")
	case err == nil:
		w.works(t, h)
	case !k.truth && !k.refuses:
		t.Errorf("the next start is refused: %v", err)
	case !strings.Contains(err.Error(), nameOf(k.file)):
		t.Errorf("the next start: %v, which does not name %s", err, nameOf(k.file))
	}
	if now := blocks(t, path); err != nil && !maps.Equal(now, before) {
		t.Error("the next start, which was refused, has changed blocks")
	}
}
