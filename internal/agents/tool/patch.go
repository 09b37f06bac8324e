package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/patch"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var applyPatch = &tool{
	Spec: Spec{
		Name:  "apply_patch",
		Class: writes,
		Description: "Change several files, all or none: *** Begin Patch, *** Update File: PATH with hunks " +
			"(@@ LINE ABOVE; then lines behind a blank, - or +), *** Add File:, *** Delete File:, *** Move to:, *** End Patch.",
		Schema: schema(`"patch"`, `"patch": {"type": "string", "minLength": 1}`),
	},
	run:       with(applyFiles),
	reconcile: reconcilePatch,
}

type patchArguments struct {
	Patch string `json:"patch"`
}

// pending is what is to become of one file.
type pending struct {
	place
	mode     fs.FileMode
	old, new []byte // nil where there is none
	dirs     []string
	said     string // for the answer
}

// applyFiles checks all of a patch before it changes anything.
func applyFiles(ctx context.Context, j job, a patchArguments) (Result, error) {
	files, err := patch.Parse(a.Patch)
	if err != nil {
		return Result{}, err
	}
	var changes []pending
	var wrong []*fault.Error
	for _, f := range files {
		if absent := j.unseen(ctx, f); absent != nil {
			wrong = append(wrong, absent)
			continue
		}
		list, err := j.planned(f)
		changes = append(changes, list...)
		if err != nil {
			e := *fault.From(err)
			more := e.More
			e.More = nil
			wrong = append(append(wrong, &e), more...)
		}
	}
	if err := fault.Join(wrong); err != nil {
		return Result{}, err
	}
	if err := apart(changes); err != nil {
		return Result{}, err
	}
	if err := j.carryOut(changes); err != nil {
		return Result{}, err
	}
	return patched(changes), nil
}

// apart refuses a patch that says twice what becomes of a file.
func apart(changes []pending) error {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.path] {
			return unfit("patch", "the file stands in it twice").Got(c.path).Want("one header for each file, with all of its hunks")
		}
		seen[c.path] = true
	}
	return nil
}

// unseen refuses what is said about a file that the repository has and a sparse
// checkout has not.
func (s *Set) unseen(ctx context.Context, f patch.File) *fault.Error {
	for _, name := range []string{f.Path, f.To} {
		if name == "" {
			continue
		}
		if absent := s.notHere(ctx, name); absent != nil {
			return absent
		}
	}
	return nil
}

// planned says what becomes of the files that one part of a patch is about; it
// changes nothing.
func (s *Set) planned(f patch.File) ([]pending, error) {
	if f.Action == patch.Add {
		c, err := s.fresh(f.Path)
		c.new, c.mode, c.said = textOf(f.Lines, true), 0o644, "added "+c.path
		return []pending{c}, at(f.Path, err)
	}
	c, err := s.present(f.Path)
	if err != nil {
		return nil, at(f.Path, err)
	}
	if f.Action == patch.Delete {
		c.said = "deleted " + c.path
		return []pending{c}, s.mayGo(c.path)
	}
	if binary(c.old) {
		return nil, fault.New("tool/failed", "the file is not text").At(f.Path)
	}
	text, lines, err := hunks(f, string(c.old))
	if err != nil {
		return nil, err
	}
	edited := fmt.Sprintf("%s at line %s", c.path, numbers(lines))
	if f.To == "" {
		c.new, c.said = []byte(text), "changed "+edited
		return []pending{c}, nil
	}
	if err := s.mayGo(c.path); err != nil {
		return nil, err
	}
	to, err := s.fresh(f.To)
	if err != nil {
		return nil, at(f.To, err)
	}
	to.new, to.mode, to.said = []byte(text), c.mode, fmt.Sprintf("moved %s to %s", c.path, to.path)
	if len(lines) > 0 {
		to.said = fmt.Sprintf("moved %s to %s", edited, to.path)
	}
	return []pending{to, c}, nil
}

// present finds a file that is there.
func (s *Set) present(name string) (pending, error) {
	p, err := s.target(name, "", false)
	if err != nil {
		return pending{}, err
	}
	defer p.close()
	data, info, err := p.content(maxWrite)
	if err != nil {
		return pending{}, err
	}
	return pending{place: place{path: p.path}, old: append([]byte{}, data...), mode: info.Mode().Perm()}, nil
}

// fresh finds where a file can be made that is not there, and the directories
// that it lacks.
func (s *Set) fresh(name string) (pending, error) {
	list, err := elements(name)
	if err != nil {
		return pending{}, err
	}
	if len(list) == 0 || strings.HasSuffix(name, "/") {
		return pending{}, fault.New("tool/arguments", "it names a directory, not a file")
	}
	c := pending{place: place{path: path.Join(list...)}}
	for i := range list {
		p, err := s.target(path.Join(list[:i+1]...), "", false)
		if err != nil {
			return c, err
		}
		info, err := p.dir.Lstat(p.name)
		p.close()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			for n := i + 1; n < len(list); n++ {
				c.dirs = append(c.dirs, path.Join(list[:n]...))
			}
			return c, nil
		case err != nil:
			return c, trouble(name, err)
		case i < len(list)-1 && !info.IsDir():
			return c, fault.New("tool/not-found", "%q on the way there is not a directory", p.name)
		}
	}
	return c, fault.New("tool/no-match", "there is a file of this name already").Want("Update File, or another name")
}

// carryOut makes changes that were checked: all new contents are on the disk
// before the first takes its place, and where one cannot, the others are undone.
func (j job) carryOut(changes []pending) (err error) {
	made := 0
	defer func() {
		if err != nil {
			err = errors.Join(err, j.undo(changes, made))
		}
		for _, c := range changes {
			if c.dir != nil {
				c.close()
			}
		}
	}()
	for i, c := range changes {
		if changes[i].place, err = j.target(c.path, "", c.new != nil); err != nil {
			return at(c.path, err)
		}
		if c.new != nil {
			if err := changes[i].stage(c.new, c.mode, j.id); err != nil {
				return at(c.path, err)
			}
		}
	}
	for i, c := range changes {
		if err := c.make(j.id); err != nil {
			return at(c.path, err)
		}
		made = i + 1
	}
	return nil
}

// make puts a staged file in its place, or removes one.
func (c pending) make(id string) error {
	if c.new != nil {
		return c.settle(id)
	}
	return c.remove()
}

func (c pending) remove() error {
	if err := c.dir.Remove(c.name); err != nil {
		return trouble(c.path, err)
	}
	return nil
}

// undo puts back what was there before changes of which so many were made.
func (j job) undo(changes []pending, made int) error {
	var errs []error
	for i, c := range slices.Backward(changes) {
		switch {
		case c.dir == nil:
			continue
		case i < made && c.old != nil:
			if err := c.stage(c.old, c.mode, j.id); err != nil {
				errs = append(errs, at(c.path, err))
				continue
			}
			errs = append(errs, at(c.path, c.settle(j.id)))
		case i < made:
			errs = append(errs, at(c.path, c.remove()))
		default:
			errs = append(errs, c.sweep(j.id))
		}
	}
	for _, c := range changes {
		for _, dir := range slices.Backward(c.dirs) {
			if p, err := j.locate(dir, how{}); err == nil {
				_ = p.dir.Remove(p.name) // one that is not empty stays
				p.close()
			}
		}
	}
	return errors.Join(errs...)
}

// patched is the answer to a patch that was applied.
func patched(changes []pending) Result {
	var out strings.Builder
	var said, paths []string
	for _, c := range changes {
		paths = append(paths, c.path)
		if c.said != "" {
			said = append(said, c.said)
			out.WriteString(c.said + "\n")
		}
	}
	r := done(out.String(), "%s", strings.Join(said, "; "))
	r.Changed = paths
	return r
}

// reconcilePatch looks at what a patch that was cut off has left. Each file is as
// it was or as it is to be, for it is replaced in one step.
func reconcilePatch(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a patchArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly {
		return Result{}, false
	}
	files, err := patch.Parse(a.Patch)
	if err != nil {
		return Result{}, false // it is refused again
	}
	var changes []pending
	untouched, mixed := 0, false
	for _, f := range files {
		for _, name := range []string{f.Path, f.To} {
			if name != "" {
				_, _, _ = s.left(name, call.Id) // sweeps the draft
			}
		}
		_, err := s.planned(f)
		before := err == nil
		list, after := s.finished(f)
		changes = append(changes, list...)
		switch {
		case before && !after:
			untouched++
		case before == after:
			mixed = true
		}
	}
	switch {
	case untouched == len(files):
		return Result{}, false
	case untouched == 0 && !mixed:
		return patched(changes), true
	}
	return unknown("the files fit neither a patch that was applied nor one that was not"), true
}

// finished says whether files are as one part of a patch leaves them.
func (s *Set) finished(f patch.File) ([]pending, bool) {
	old, err := s.present(f.Path)
	gone := err != nil && fault.Code(err) == "tool/not-found"
	file := pending{place: place{path: path.Clean(f.Path)}}
	switch {
	case f.Action == patch.Add:
		file.said = "added " + file.path
		return []pending{file}, err == nil && string(old.old) == string(textOf(f.Lines, true))
	case f.Action == patch.Delete:
		file.said = "deleted " + file.path
		return []pending{file}, gone
	case f.To == "":
		file.said = "changed " + file.path
		return []pending{file}, err == nil && s.has(old, f)
	}
	to, err := s.present(f.To)
	moved := pending{place: place{path: path.Clean(f.To)}, said: fmt.Sprintf("moved %s to %s", file.path, path.Clean(f.To))}
	return []pending{moved, file}, gone && err == nil && s.has(to, f)
}

// has says whether a file has the new lines of all hunks: the patch, turned
// around, fits.
func (s *Set) has(c pending, f patch.File) bool {
	back := patch.File{Path: f.Path}
	for _, h := range f.Hunks {
		turned := patch.Hunk{Under: h.Under, End: h.End}
		for _, l := range h.Lines {
			switch l.Kind {
			case patch.Goes:
				l.Kind = patch.Comes
			case patch.Comes:
				l.Kind = patch.Goes
			}
			turned.Lines = append(turned.Lines, l)
		}
		back.Hunks = append(back.Hunks, turned)
	}
	_, _, err := hunks(back, string(c.old))
	return err == nil
}
