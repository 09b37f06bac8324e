package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

// Cone is what a sparse checkout has of a tree, as git's cone mode has it: the
// files at the top, some directories with all below them, and the files that lie
// directly in the directories above those. Its zero value is the whole tree.
type Cone struct {
	// Dirs are there with all below them. None lies within another.
	Dirs []string `json:"dirs"`
	// Flat are there with the files that lie directly in them: what a change
	// touches outside Dirs.
	Flat []string `json:"flat,omitempty"`
}

// NewCone returns the cone of directories, which are clean relative paths with
// slashes; of none, the whole tree.
func NewCone(dirs []string) Cone {
	sorted := slices.Sorted(slices.Values(dirs))
	var c Cone
	for _, d := range slices.Compact(sorted) {
		if !slices.ContainsFunc(c.Dirs, func(above string) bool { return within(d, above) }) {
			c.Dirs = append(c.Dirs, d)
		}
	}
	return c
}

// Union is what either cone has.
func (c Cone) Union(other Cone) Cone {
	if c.Whole() || other.Whole() {
		return Cone{}
	}
	u := NewCone(slices.Concat(c.Dirs, other.Dirs))
	u.Flat = slices.Concat(c.Flat, other.Flat)
	slices.Sort(u.Flat)
	u.Flat = slices.Compact(u.Flat)
	return u
}

// Listed names the directories of which something is there; none for the whole tree.
func (c Cone) Listed() []string {
	list := slices.Concat(c.Dirs, c.Flat)
	slices.Sort(list)
	return list
}

// Whole reports whether nothing is left out.
func (c Cone) Whole() bool { return len(c.Dirs) == 0 }

// Has reports whether a file is in the cone.
func (c Cone) Has(file string) bool {
	dir := path.Dir(file)
	if c.Whole() || dir == "." {
		return true
	}
	return slices.ContainsFunc(c.Dirs, func(d string) bool { return within(dir, d) || within(d, dir) }) ||
		slices.ContainsFunc(c.Flat, func(d string) bool { return within(d, dir) })
}

// within reports whether a directory is another or lies below it.
func within(dir, above string) bool { return dir == above || strings.HasPrefix(dir, above+"/") }

// With returns the cone with the directories of files that are outside of it. A
// directory whose name no pattern can carry makes it the whole tree.
func (c Cone) With(files []string) Cone {
	flat := slices.Clone(c.Flat)
	for _, f := range files {
		switch dir := path.Dir(f); {
		case c.Has(f) || slices.Contains(flat, dir):
		case strings.ContainsAny(dir, "\n\r"):
			return Cone{}
		default:
			flat = append(flat, dir)
		}
	}
	slices.Sort(flat)
	return Cone{c.Dirs, flat}
}

// patterns is the cone as git's info/sparse-checkout.
func (c Cone) patterns() string {
	const shallow, deep = 1, 2
	depth := map[string]int{}
	note := func(dir string, d int) {
		for depth[dir] = max(depth[dir], d); path.Dir(dir) != "."; {
			dir = path.Dir(dir)
			depth[dir] = max(depth[dir], shallow)
		}
	}
	for _, d := range c.Flat {
		note(d, shallow)
	}
	for _, d := range c.Dirs {
		note(d, deep)
	}
	var b strings.Builder
	b.WriteString("/*\n!/*/\n")
	for _, dir := range slices.Sorted(maps.Keys(depth)) {
		name := escapeGlob.Replace(dir)
		b.WriteString("/" + name + "/\n")
		if depth[dir] == shallow {
			b.WriteString("!/" + name + "/*/\n")
		}
	}
	return b.String()
}

var escapeGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// id names the cone; empty for the whole tree.
func (c Cone) id() string {
	if c.Whole() {
		return ""
	}
	sum := sha256.Sum256([]byte(c.patterns()))
	return hex.EncodeToString(sum[:12])
}

// sparseConfig has git keep to the cone of the git directory, and see what stands
// outside of it all the same: an entry of the index that says "not in the work
// tree" is taken at its word only while nothing stands there.
var sparseConfig = []string{"core.sparseCheckout=true", "core.sparseCheckoutCone=true", "sparse.expectFilesOutsideOfPatterns=false"}

// Of a sparse checkout git reads the patterns in the git directory. Places of one
// mirror have different cones at once, so each cone has a git directory of its own
// that shares all else with the mirror, as that of a linked work tree does.
func (m mirror) viewPath() string { return filepath.Join(m.path(), "cones", m.cone.id()) }

// viewIdle is after how long the git directory of a cone goes that nobody used.
const viewIdle = 7 * 24 * time.Hour

// view makes the git directory of the mirror's cone, if it has one.
func (m mirror) view() error {
	if m.cone.Whole() {
		return nil
	}
	to, now := m.viewPath(), time.Now()
	if os.Chtimes(to, now, now) == nil {
		return nil
	}
	if err := durable.MakeAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.Mkdir(filepath.Join(fresh, "info"), 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/none\n", "commondir": "../..\n", "info/sparse-checkout": m.cone.patterns(),
	} {
		if err := os.WriteFile(filepath.Join(fresh, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return install(fresh, to)
}

// tidyViews removes the git directories of cones that are out of use.
func (m mirror) tidyViews() error {
	top := filepath.Join(m.path(), "cones")
	views, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, v := range views {
		if info, err := v.Info(); err == nil && time.Since(info.ModTime()) > viewIdle {
			if err := os.RemoveAll(filepath.Join(top, v.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// seeing returns the mirror with another cone.
func (m mirror) seeing(c Cone) (mirror, error) {
	m.cone = c
	return m, m.view()
}

// Sparse returns the same workspaces, whose checkouts have what is in a cone.
func (ws *Workspaces) Sparse(c Cone) *Workspaces {
	m := ws.mirror
	m.cone = c
	return &Workspaces{m, ws.target, ws.pool}
}

// Cone is what the workspaces have of the repository.
func (ws *Workspaces) Cone() Cone { return ws.cone }

// Showing returns the same workspaces with what differs between two commits in
// their cone too, so that whoever judges a change has the files that it touches.
func (ws *Workspaces) Showing(ctx context.Context, base, commit string) (*Workspaces, error) {
	if ws.cone.Whole() || base == commit {
		return ws, nil
	}
	for _, c := range []string{base, commit} {
		if err := ws.fetch(ctx, c); err != nil {
			return nil, err
		}
	}
	cone, err := ws.coneOf(ctx, base, commit)
	if err != nil {
		return nil, err
	}
	return ws.Sparse(cone), nil
}

// coneOf is the mirror's cone with the files that one tree has otherwise than
// another.
func (m mirror) coneOf(ctx context.Context, base, content string) (Cone, error) {
	if m.cone.Whole() || base == content {
		return m.cone, nil
	}
	p, err := readPatch(ctx, m.git(), base, content)
	if err != nil {
		return Cone{}, err
	}
	var there []string
	for _, e := range p {
		if !e.deleted() {
			there = append(there, e.path)
		}
	}
	return m.cone.With(there), nil
}

// Cone is what the work tree has of the repository. It lasts as long as the work
// tree does.
func (w *Worktree) Cone() Cone { return w.cone }

func (w *Worktree) conePath() string { return w.indexPath(w.execution) + ".cone" }

// widen has the work tree show what content has otherwise than base.
func (w *Worktree) widen(ctx context.Context, base, content string) error {
	cone, err := w.coneOf(ctx, base, content)
	if err != nil {
		return err
	}
	if cone.id() == w.cone.id() {
		return nil
	}
	if w.mirror, err = w.seeing(cone); err != nil {
		return err
	}
	return w.rememberCone()
}

// rememberCone notes what the work tree has, beside its index.
func (w *Worktree) rememberCone() error {
	if w.cone.Whole() {
		return os.RemoveAll(w.conePath())
	}
	data, err := json.Marshal(w.cone)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.conePath()), 0o700); err != nil {
		return err
	}
	fresh := w.conePath() + ".new"
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return err
	}
	return errors.Join(durable.File(fresh), durable.Rename(fresh, w.conePath()))
}

// recallCone finds out what the work tree has, whatever it would have if it were
// made now.
func (w *Worktree) recallCone() error {
	var c Cone
	data, err := os.ReadFile(w.conePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if err := json.Unmarshal(data, &c); err != nil {
			return fault.New("git/damaged", "what a workspace was made with cannot be read").Got(w.execution).Because(err)
		}
	}
	w.mirror, err = w.seeing(c)
	return err
}

// leaveOut tells the index that what is outside of the cone is not in the work tree.
func (w *Worktree) leaveOut(ctx context.Context, index string) error {
	if w.cone.Whole() {
		return nil
	}
	files := w.over(w.Path(), index)
	out, err := files.run(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	return files.update(ctx, slices.DeleteFunc(splitNUL(out), w.cone.Has), "--skip-worktree")
}

// replaces refuses what would take the place of paths that are merely not checked
// out: the change would remove them, and nobody has seen them.
func (w *Worktree) replaces(ctx context.Context, files call, others []string) error {
	if w.cone.Whole() || len(others) == 0 {
		return nil
	}
	out, err := files.run(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	absent, above := map[string]bool{}, map[string]bool{}
	for _, p := range splitNUL(out) {
		if w.cone.Has(p) {
			continue
		}
		absent[p] = true
		for dir := path.Dir(p); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, p := range others {
		clash := above[p]
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			clash = clash || absent[dir]
		}
		if clash {
			return fault.New("git/unsupported", "it stands in the place of what the repository has there and this sparse checkout has not").Got(p).
				Want("give it another name; checked out are the files at the top and %s", Named(w.cone.Dirs))
		}
	}
	return nil
}
