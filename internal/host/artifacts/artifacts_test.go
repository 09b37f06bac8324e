package artifacts

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shelf is a repository of one document, and counts what is read of it.
type shelf struct {
	commits []map[string][]byte
	large   map[string]int64 // sizes that files are said to have
	reads   map[string]int   // by path
}

func (s *shelf) CommitOf(context.Context, string) (string, error) {
	return fmt.Sprint(len(s.commits) - 1), nil
}

func (s *shelf) FilesNamed(ctx context.Context, rev, suffix string) (commit string, paths []string, err error) {
	commit, err = s.CommitOf(ctx, rev)
	for path := range s.commits[len(s.commits)-1] {
		if strings.HasSuffix(path, suffix) {
			paths = append(paths, path)
		}
	}
	return commit, slices.Sorted(slices.Values(paths)), err
}

func (s *shelf) FileAt(_ context.Context, commit, path string, most int64) ([]byte, int64, bool, error) {
	var n int
	if _, err := fmt.Sscan(commit, &n); err != nil {
		return nil, 0, false, err
	}
	data, there := s.commits[n][path]
	size := max(int64(len(data)), s.large[path])
	if !there || size > most {
		return nil, size, there, nil
	}
	s.reads[path]++
	return data, size, true, nil
}

func (s *shelf) Changes(_ context.Context, _ string, paths []string) (map[string][]git.FileChange, error) {
	list := map[string][]git.FileChange{}
	for i := range s.commits {
		for _, path := range paths {
			list[path] = append(list[path], git.FileChange{Commit: fmt.Sprint(i)})
		}
	}
	return list, nil
}

// lands adds a version of a.md.
func (s *shelf) lands(t *testing.T, data []byte) {
	t.Helper()
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: "Roof", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What", Body: "It is dry."}}}
	record := document.NewRecord(document.Making{
		Artifact: "a.md", Format: "md", Spec: spec, Report: document.Review{}.Run(spec), Data: data, At: "2026-03-02T10:00:00Z",
	})
	s.commits = append(s.commits, map[string][]byte{"a.md": data, "a.md.record.json": document.JSON(record), "a.spec.json": document.JSON(spec)})
}

// wholeOf reads a document in parts, as whoever asks over HTTP has it read.
func wholeOf(t *testing.T, s *Store, q *loomv1.ArtifactRequest) (data []byte) {
	t.Helper()
	for {
		q.Offset = uint64(len(data))
		reply, err := s.Part(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		q.V, data = reply.V, append(data, reply.Data...)
		if uint64(len(data)) >= reply.Size || len(reply.Data) == 0 {
			return data
		}
	}
}

// Of a document that is read in parts the versions and the file are read once; one that
// landed since is a new version.
func TestDOC06_PartsOfADocumentAreReadOnce(t *testing.T) {
	repo := &shelf{reads: map[string]int{}}
	first, second := bytes.Repeat([]byte("first "), part), bytes.Repeat([]byte("second "), part)
	repo.lands(t, []byte("draft"))
	repo.lands(t, first)
	cleaned := 0
	s := &Store{Repository: repo, Project: "shop", Branch: "main", Recent: &Recent{}, Clean: func(text string) string {
		cleaned++
		return text
	}}
	for _, v := range []string{"", "2", hashOf(&loomv1.ArtifactVersion{FileHash: document.HashBytes(first)})} {
		repo.reads, cleaned = map[string]int{}, 0
		if got := wholeOf(t, s, &loomv1.ArtifactRequest{Id: "a.md", V: v}); !bytes.Equal(got, first) {
			t.Fatalf("version %q has %d bytes, want %d", v, len(got), len(first))
		}
		if repo.reads["a.md"] > 1 || repo.reads["a.md.record.json"] > 2 || cleaned > 1 {
			t.Errorf("version %q is read in %d parts: read %v, cleaned %d times", v, len(first)/part, repo.reads, cleaned)
		}
	}
	page := wholeOf(t, s, &loomv1.ArtifactRequest{Id: "a.md", Form: loomv1.ArtifactForm_ARTIFACT_FORM_PREVIEW})
	if !bytes.Contains(page, []byte("It is dry.")) {
		t.Errorf("the page of a document that was read:\n%s", page)
	}
	repo.lands(t, second)
	if got := wholeOf(t, s, &loomv1.ArtifactRequest{Id: "a.md"}); !bytes.Equal(got, second) {
		t.Errorf("once another one landed: %d bytes, want %d", len(got), len(second))
	}
	if got := wholeOf(t, s, &loomv1.ArtifactRequest{Id: "a.md", V: "1"}); string(got) != "draft" {
		t.Errorf("the first version: %q", got)
	}
	if r := s.Recent; r.size > mostKeptBytes || len(r.list) > mostKept {
		t.Errorf("%d documents of %d bytes are kept", len(r.list), r.size)
	}
}

// A file that is too large is refused for its size, and not read.
func TestDOC06_AFileThatIsTooLargeIsNotRead(t *testing.T) {
	repo := &shelf{reads: map[string]int{}, large: map[string]int64{"a.md": mostBytes + 1}}
	repo.lands(t, []byte("draft"))
	s := &Store{Repository: repo, Project: "shop", Branch: "main"}
	if _, err := s.Part(t.Context(), &loomv1.ArtifactRequest{Id: "a.md"}); fault.Code(err) != "document/limit" || repo.reads["a.md"] > 0 {
		t.Errorf("%v, read %v", err, repo.reads)
	}
}

// What is kept is bounded by its number and its size, and what was used last stays.
func TestDOC06_FewDocumentsAreKept(t *testing.T) {
	r := &Recent{}
	at := func(n int) key { return key{v: fmt.Sprint(n)} }
	for i := range 2 * mostKept {
		r.put(at(i), &whole{data: make([]byte, 1)})
		r.get(at(0))
	}
	if len(r.list) != mostKept || r.size != mostKept || r.get(at(0)) == nil || r.get(at(1)) != nil || r.get(at(2*mostKept-1)) == nil {
		t.Errorf("%d of %d bytes: %v", len(r.list), r.size, r.list)
	}
	r.put(at(1), &whole{data: make([]byte, mostKeptBytes)})
	r.put(at(1), &whole{data: make([]byte, mostKeptBytes)})
	r.put(at(2), &whole{data: make([]byte, mostKeptBytes+1)})
	if len(r.list) != 1 || r.size != mostKeptBytes || r.get(at(1)) == nil {
		t.Errorf("%d of %d bytes, once a large one came", len(r.list), r.size)
	}
}
