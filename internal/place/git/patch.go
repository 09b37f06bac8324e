package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// entry is one path of a patch: what stood there and what shall.
type entry struct {
	path             string
	oldMode, newMode string // "000000" for none
	oldBlob, newBlob string // all zeros for none
}

const (
	noMode      = "000000"
	gitlinkMode = "160000"
)

func (e entry) added() bool   { return e.oldMode == noMode }
func (e entry) deleted() bool { return e.newMode == noMode }

func (e entry) status() string {
	switch {
	case e.added():
		return "added"
	case e.deleted():
		return "deleted"
	}
	return "modified"
}

// patch is the difference of two trees, sorted by path, without renames.
type patch []entry

// readPatch compares two trees or commits.
func readPatch(ctx context.Context, c call, from, to string) (patch, error) {
	out, err := c.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
		"--ignore-submodules=none", from, to)
	if err != nil {
		return nil, err
	}
	return parsePatch(out)
}

// parsePatch reads the output of "diff-tree -z --raw".
func parsePatch(out []byte) (patch, error) {
	var p patch
	fields := splitNUL(out)
	for len(fields) > 0 {
		meta := strings.Fields(fields[0])
		if len(fields) < 2 || len(meta) != 5 || !strings.HasPrefix(meta[0], ":") {
			return nil, fault.New("git/damaged", "git gave a difference that cannot be read").Got(fields[0])
		}
		p = append(p, entry{fields[1], meta[0][1:], meta[1], meta[2], meta[3]})
		fields = fields[2:]
	}
	sort.Slice(p, func(i, j int) bool { return p[i].path < p[j].path })
	return p, nil
}

func splitNUL(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
}

func joinNUL(paths []string) *strings.Reader {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return strings.NewReader(b.String())
}

// digest is what an approval is bound to: lower-case hex SHA-256 over one line
// "PATH NUL OLDMODE NEWMODE OLDBLOB NEWBLOB LF" a path.
func (p patch) digest() string {
	h := sha256.New()
	for _, e := range p {
		fmt.Fprintf(h, "%s\x00%s %s %s %s\n", e.path, e.oldMode, e.newMode, e.oldBlob, e.newBlob)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (p patch) paths() []string {
	paths := make([]string, len(p))
	for i, e := range p {
		paths[i] = e.path
	}
	return paths
}

// files describes the patch for people, with the lines added and removed.
func (p patch) files(ctx context.Context, c call, from, to string) ([]*loomv1.ChangedFile, error) {
	out, err := c.run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff",
		"--no-textconv", "--ignore-submodules=none", from, to)
	if err != nil {
		return nil, err
	}
	counts := map[string][2]uint32{}
	for _, field := range splitNUL(out) {
		if f := strings.SplitN(field, "\t", 3); len(f) == 3 {
			counts[f[2]] = [2]uint32{number(f[0]), number(f[1])}
		}
	}
	files := make([]*loomv1.ChangedFile, len(p))
	for i, e := range p {
		n := counts[e.path]
		files[i] = &loomv1.ChangedFile{Path: shown(e.path), Status: e.status(), Added: n[0], Removed: n[1]}
	}
	return files, nil
}

// number reads a count; "-", for a binary file, is 0.
func number(s string) uint32 {
	n, _ := strconv.ParseUint(s, 10, 32)
	return uint32(n)
}

// shown is a path as a message may carry it: valid UTF-8.
func shown(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

// ShownDiff is how many bytes of a diff people are shown: an answer that carries it
// must fit into a message of NATS, where what is no UTF-8 takes up to twice as much.
const ShownDiff = 768 << 10

// text is the unified diff, for people: of a longer one the lines of the first
// [ShownDiff] bytes, and a line that says so. The digest is of the whole patch.
func (p patch) text(ctx context.Context, c call, from, to string) ([]byte, error) {
	out, err := c.head(ctx, ShownDiff+1, "diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--full-index", "--ignore-submodules=none", from, to)
	if err != nil || len(out) <= ShownDiff {
		return out, err
	}
	out = out[:ShownDiff]
	if end := bytes.LastIndexByte(out, '\n'); end >= 0 {
		out = out[:end+1]
	}
	note := fmt.Sprintf("... the rest is left out, beyond %d KiB; the change is of %d files, %.12s to %.12s ...\n", ShownDiff>>10, len(p), from, to)
	return append(out, note...), nil
}

// Named names the first paths of a list, for a sentence.
func Named(paths []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		quoted = append(quoted, fault.Echo(p))
	}
	s := strings.Join(quoted, ", ")
	if more := len(paths) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
