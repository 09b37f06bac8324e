package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Line says where a line of a file comes from.
type Line struct {
	Path   string // from the top of the repository, with slashes
	Number int    // as it was asked for, from 1
	Text   string
	Rev    string // branch or commit whose history was read
	// Origin is the commit that the line came with; nil for a line of the
	// registered checkout that Rev does not have.
	Origin *Origin
}

// Origin is a commit as it tells of itself.
type Origin struct {
	Commit            string
	Author, Committer string // names
	Time              time.Time
	Subject           string
	// Boundary says that a shallow history ends here: the line may be older.
	Boundary bool
	// Claim is what the trailers say; nil when they name no execution.
	Claim *Claim
}

// Claim is what a commit says of how Loom made it. Anybody can write a trailer.
type Claim struct {
	Bead, Execution, Decision string
	Token                     uint64
	Patch                     string
	// Kept says that the commit holds the patch that it names, so that it was
	// not amended since.
	Kept bool
}

// Blame finds the commit that line number of a file came with, in the history
// of rev: a branch, or the name of a commit. The path is relative to the top,
// with slashes.
//
// It returns git/unknown-branch for a rev, and git/unknown-line for a file or a
// line, that is not there.
func (r *Repository) Blame(ctx context.Context, rev, path string, number int) (*Line, error) {
	commit, err := r.commitOf(ctx, rev)
	if err != nil {
		return nil, err
	}
	there, known, err := r.content(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fault.New("git/unknown-line", "there is no such file on %s", rev).Got(path).
			Want("a path from the top of the repository")
	}
	l := &Line{Path: path, Number: number, Rev: rev}
	if l.Text, err = lineOf(there, path, number); err == nil {
		l.Origin, err = r.origin(ctx, commit, path, number)
	}
	return l, err
}

// Counted is a line of the registered checkout.
type Counted struct {
	Text   string
	Number int // of that line in the revision; 0 where the checkout alone has it
}

// Counted returns line number of the registered checkout's copy of a file, and where
// rev has it; nil where the checkout has no such file. It is for the user of the
// checkout alone: what is not committed may be nobody else's business.
//
// It returns git/unknown-branch for a rev, and git/unknown-line for a line, that is not
// there.
func (r *Repository) Counted(ctx context.Context, rev, path string, number int) (*Counted, error) {
	commit, err := r.commitOf(ctx, rev)
	if err != nil {
		return nil, err
	}
	there, known, err := r.content(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	here, ok := r.own(path)
	if !ok {
		return nil, nil
	}
	c := &Counted{}
	if c.Text, err = lineOf(here, path, number); err == nil && known {
		c.Number, err = counterpart(ctx, there, here, number)
	}
	return c, err
}

// content returns a file as a commit has it.
func (r *Repository) content(ctx context.Context, commit, path string) ([]byte, bool, error) {
	id, _, there, err := r.blobAt(ctx, commit, path)
	if err != nil || !there {
		return nil, false, err
	}
	data, err := r.git().run(ctx, "cat-file", "blob", id)
	return data, err == nil, err
}

// blobAt finds the blob of a file as a commit has it, and its size.
func (r *Repository) blobAt(ctx context.Context, commit, path string) (id string, size int64, there bool, err error) {
	o, err := r.git().at(ctx, commit, path)
	return o.id, o.size, o.kind == "blob", err
}

// object is what a commit has at a path.
type object struct {
	kind string // "blob", "tree" or "commit"; empty for nothing
	id   string
	size int64 // of a blob
}

// at finds what a commit has at a path, which has slashes and ends with none.
func (c call) at(ctx context.Context, commit, path string) (object, error) {
	if strings.ContainsRune(path, 0) {
		return object{}, nil
	}
	out, err := c.run(ctx, "ls-tree", "-l", "-z", "--full-tree", commit, "--", path)
	if exitCode(err) > 0 {
		return object{}, nil // such a path cannot be in a tree
	}
	meta, name, _ := strings.Cut(strings.TrimSuffix(string(out), "\x00"), "\t")
	f := strings.Fields(meta)
	if err != nil || len(f) != 4 || name != path {
		return object{}, err
	}
	o := object{kind: f[1], id: f[2]}
	if o.kind == "blob" {
		o.size, err = strconv.ParseInt(f[3], 10, 64)
	}
	return o, err
}

// own returns a file as the registered checkout has it. No link out of the
// checkout is followed.
func (r *Repository) own(path string) ([]byte, bool) {
	if r.top() == "" {
		return nil, false
	}
	root, err := os.OpenRoot(r.top())
	if err != nil {
		return nil, false
	}
	defer root.Close()
	name := filepath.FromSlash(path)
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > callOutput {
		return nil, false
	}
	data, err := root.ReadFile(name)
	return data, err == nil
}

func lineOf(data []byte, path string, number int) (string, error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	if number < 1 || number > len(lines) {
		return "", fault.New("git/unknown-line", "%q has %d lines", path, len(lines)).Got(strconv.Itoa(number))
	}
	return strings.TrimRight(strings.ToValidUTF8(string(lines[number-1]), "\uFFFD"), "\r\n"), nil
}

// counterpart returns the line of old that line number of young is, 0 for one
// that is not in old.
func counterpart(ctx context.Context, old, young []byte, number int) (int, error) {
	if bytes.Equal(old, young) {
		return number, nil
	}
	dir, err := os.MkdirTemp("", "loom-blame-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string][]byte{"old": old, "new": young} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return 0, err
		}
	}
	out, err := call{dir: dir}.run(ctx, "diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--text",
		"--ignore-cr-at-eol", "-U0", "old", "new")
	if err != nil && exitCode(err) != 1 {
		return 0, err
	}
	return beforeHunks(out, number), nil
}

// beforeHunks takes a line of the new side of a difference without context to
// the old side.
func beforeHunks(diff []byte, number int) int {
	at := number
	for text := range bytes.Lines(diff) {
		f := strings.Fields(string(text))
		if len(f) < 4 || f[0] != "@@" {
			continue
		}
		_, removed := hunkRange(f[1])
		from, added := hunkRange(f[2])
		switch {
		case added > 0 && number >= from && number < from+added:
			return 0
		case number >= from+added && (added > 0 || number > from):
			at += removed - added
		}
	}
	return at
}

// hunkRange reads "-3,2" or "+3": the first line and how many.
func hunkRange(s string) (from, count int) {
	first, rest, many := strings.Cut(strings.TrimLeft(s, "+-"), ",")
	from, _ = strconv.Atoi(first)
	if count = 1; many {
		count, _ = strconv.Atoi(rest)
	}
	return from, count
}

// origin asks git where a line of a commit's file came from.
func (r *Repository) origin(ctx context.Context, commit, path string, number int) (*Origin, error) {
	span := strconv.Itoa(number) + "," + strconv.Itoa(number)
	c := r.git()
	c.config = []string{"blame.ignoreRevsFile="}
	out, err := c.run(ctx, "blame", "--no-textconv", "--porcelain", "-L", span, commit, "--", path)
	if err != nil {
		return nil, err
	}
	o := &Origin{}
	for i, text := range strings.Split(string(out), "\n") {
		switch {
		case i == 0:
			o.Commit, _, _ = strings.Cut(text, " ")
		case strings.HasPrefix(text, "\t"):
			return o, r.attest(ctx, o)
		}
		o.read(text)
	}
	return nil, fault.New("git/damaged", "git gave a line without its origin").Got(string(out))
}

// read takes in a line of what git tells of the commit of a line.
func (o *Origin) read(text string) {
	key, value, _ := strings.Cut(text, " ")
	switch key {
	case "author":
		o.Author = shown(value)
	case "committer":
		o.Committer = shown(value)
	case "author-time":
		seconds, _ := strconv.ParseInt(value, 10, 64)
		o.Time = time.Unix(seconds, 0).UTC()
	case "summary":
		o.Subject = shown(value)
	case "boundary":
		o.Boundary = true
	}
}

// attest reads what the commit claims.
func (r *Repository) attest(ctx context.Context, o *Origin) error {
	m, err := r.inspect(ctx, o.Commit)
	o.Boundary = o.Boundary && m.parent != "" // else it is the very first
	if err == nil && m.execution != "" {
		o.Claim = &Claim{
			Bead: m.bead, Execution: m.execution, Decision: m.decision, Token: m.token, Patch: m.patch,
			Kept: m.patch == m.digest,
		}
	}
	return err
}
