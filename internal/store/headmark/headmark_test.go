package headmark_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func open(t testing.TB, dir string) *headmark.Keeper {
	t.Helper()
	k, err := headmark.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func head(epoch, seq uint64) journal.Head {
	return journal.Head{Epoch: epoch, Sequence: seq, Hash: []byte{byte(epoch), byte(seq), byte(seq >> 8)}}
}

func same(a, b journal.Head) bool {
	return a.Sequence == b.Sequence && bytes.Equal(a.Hash, b.Hash)
}

// TestP3_TheNewestMarkIsKnownAgain notes heads in any order, over restarts.
func TestP3_TheNewestMarkIsKnownAgain(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		k := open(t, dir)
		heads, cuts := map[int]journal.Head{}, map[int]journal.Head{}
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			p := rapid.IntRange(0, 3).Draw(r, "partition")
			h := head(rapid.Uint64Range(1, 3).Draw(r, "epoch"), rapid.Uint64Range(1, 500).Draw(r, "sequence"))
			switch rapid.IntRange(0, 11).Draw(r, "what") {
			case 0:
				if err := k.Close(); err != nil {
					r.Fatal(err)
				}
				k = open(t, dir)
			case 1:
				if err := k.Cut(p, h); err != nil {
					r.Fatal(err)
				}
				if h.Sequence > cuts[p].Sequence {
					cuts[p] = h
				}
			default:
				k.Note(p, h)
				if old := heads[p]; h.Epoch > old.Epoch || h.Epoch == old.Epoch && h.Sequence > old.Sequence {
					heads[p] = h
				}
			}
		}
		if err := k.Close(); err != nil {
			r.Fatal(err)
		}
		k = open(t, dir)
		for p := range 4 {
			m := k.Known(p)
			if m.Partition != p || !same(m.Head, heads[p]) || m.Head.Epoch != heads[p].Epoch || !same(m.Cut, cuts[p]) {
				r.Errorf("partition %d: %+v, want %+v and cut %+v", p, m, heads[p], cuts[p])
			}
		}
		if err := k.Close(); err != nil {
			r.Fatal(err)
		}
	})
}

// TestP3_NoAlteredLineIsAMark flips each bit of a file of marks, and cuts it
// everywhere: what is left is what was written, or nothing.
func TestP3_NoAlteredLineIsAMark(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	k.Note(0, head(1, 7))
	if err := k.Cut(2, head(1, 3)); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, headmark.Name)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string, data []byte) {
		write(t, path, data)
		marks, unsound, err := headmark.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if unsound == 0 && !bytes.HasPrefix(sound, data) {
			t.Errorf("%s: nothing was said", name)
		}
		for p, m := range marks {
			if p == 0 && !same(m.Head, head(1, 7)) || p == 2 && !same(m.Cut, head(1, 3)) || p != 0 && p != 2 {
				t.Errorf("%s: a mark of partition %d: %+v", name, p, m)
			}
		}
	}
	for bit := range len(sound) * 8 {
		data := bytes.Clone(sound)
		data[bit/8] ^= 1 << (bit % 8)
		look(fmt.Sprint("bit ", bit), data)
	}
	for n := range sound {
		look(fmt.Sprintf("%d bytes", n), sound[:n])
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestP3_TheFileStaysSmall notes so much that it is written anew.
func TestP3_TheFileStaysSmall(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	for seq := uint64(1); seq <= 40; seq++ {
		for p := range 64 {
			k.Note(p, journal.Head{Epoch: 1, Sequence: seq, Hash: bytes.Repeat([]byte{1}, 400)})
		}
		if err := k.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, headmark.Name))
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("%v, %v; want at most 1 MiB", info, err)
	}
	marks, unsound, err := headmark.Read(filepath.Join(dir, headmark.Name))
	if err != nil || unsound != 0 || len(marks) != 64 || marks[63].Head.Sequence != 40 {
		t.Errorf("%d marks, %d unsound, %v: %+v", len(marks), unsound, err, marks[63])
	}
}

// TestP3_AJournalThatLostItsEndIsNamed compares a log with marks of it.
func TestP3_AJournalThatLostItsEndIsNamed(t *testing.T) {
	k := open(t, t.TempDir())
	log := headmark.Watch(journal.NewMemory(0), k)
	third := journaltest.Fill(t, log, journal.Head{}, 3)
	fifth := journaltest.Fill(t, log, third, 2)
	if m := k.Known(0); !same(m.Head, fifth) {
		t.Errorf("known is %+v after %+v", m.Head, fifth)
	}
	for _, tt := range []struct {
		name, code string
		head       journal.Head
	}{
		{"nothing known", "", journal.Head{}},
		{"an earlier batch", "", third},
		{"the newest", "", fifth},
		{"beyond the end", "journal/behind", journal.Head{Sequence: 6, Epoch: 1, Hash: fifth.Hash}},
		{"another batch", "journal/chain", journal.Head{Sequence: 3, Epoch: 1, Hash: fifth.Hash}},
	} {
		err := headmark.Check(t.Context(), log, "LOOM_J_00", journal.Head{}, tt.head)
		if fault.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), "LOOM_J_00") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkWatch is what noting costs an append.
func BenchmarkWatch(b *testing.B) {
	k := open(b, b.TempDir())
	log := headmark.Watch(nothing{}, k)
	batch := &loomv1.Batch{Hash: make([]byte, 32), Epoch: 1, Events: make([]*loomv1.Event, 20)}
	for i := uint64(0); b.Loop(); i++ {
		_, _ = log.Append(b.Context(), i, journal.Sealed{Batch: batch})
	}
	_ = k.Close()
}

// BenchmarkFlush is what writing a mark costs the goroutine that does.
func BenchmarkFlush(b *testing.B) {
	k := open(b, b.TempDir())
	for i := uint64(1); b.Loop(); i++ {
		k.Note(0, head(1, i))
		if err := k.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	_ = k.Close()
}
