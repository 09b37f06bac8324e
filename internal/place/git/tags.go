package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tag is a name of a commit; an annotated one is an object of its own.
type tag struct{ ref, oid, commit string }

// tags lists the tags that name commits, sorted by name.
func tags(ctx context.Context, c call) ([]tag, error) {
	out, err := c.run(ctx, "for-each-ref", "--format=%(refname) %(objecttype) %(objectname) %(*objecttype) %(*objectname)", "refs/tags/")
	if err != nil {
		return nil, err
	}
	var list []tag
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[1] == "commit":
			list = append(list, tag{f[0], f[2], f[2]})
		case len(f) == 5 && f[1] == "tag" && f[3] == "commit":
			list = append(list, tag{f[0], f[2], f[4]})
		}
	}
	return list, nil
}

// bringTags gives the mirror the tags of the registered repository, as far as it
// has what they name, by which checkouts know which version they are. It costs two
// calls of git when no tag has changed.
func (m mirror) bringTags(ctx context.Context) error {
	theirs, err := tags(ctx, m.repo.git())
	if err != nil {
		return err
	}
	ours, err := tags(ctx, m.git())
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	known := map[tag]bool{}
	for _, t := range ours {
		gone[t.ref], known[t] = true, true
	}
	var fresh []tag
	for _, t := range theirs {
		delete(gone, t.ref)
		if !known[t] {
			fresh = append(fresh, t)
		}
	}
	if fresh, err = m.reachable(ctx, fresh); err != nil {
		return err
	}
	return m.retag(ctx, fresh, gone)
}

// reachable returns the tags whose commits the mirror has, after it has copied the
// objects of those that are annotated.
func (m mirror) reachable(ctx context.Context, list []tag) ([]tag, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var names strings.Builder
	for _, t := range list {
		fmt.Fprintln(&names, t.commit)
	}
	look := m.git()
	look.stdin = strings.NewReader(names.String())
	out, err := look.run(ctx, "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return nil, err
	}
	var here []tag
	var want, have []string
	for i, kind := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if kind != "commit" || i >= len(list) {
			continue
		}
		here = append(here, list[i])
		if list[i].oid != list[i].commit {
			want, have = append(want, list[i].oid), append(have, list[i].commit)
		}
	}
	if len(want) == 0 {
		return here, nil
	}
	return here, transfer(ctx, m.repo.git(), m.git(), asPack, want, have...)
}

// retag makes the mirror have fresh tags, and no more those that are gone.
func (m mirror) retag(ctx context.Context, fresh []tag, gone map[string]bool) error {
	if len(fresh)+len(gone) == 0 {
		return nil
	}
	var orders strings.Builder
	for ref := range gone {
		fmt.Fprintf(&orders, "delete %s\n", ref)
	}
	for _, t := range fresh {
		fmt.Fprintf(&orders, "update %s %s\n", t.ref, t.oid)
	}
	set := m.git()
	set.stdin = strings.NewReader(orders.String())
	_, err := set.run(ctx, "update-ref", "--stdin")
	return err
}

// lendTags gives a git directory that is being made the mirror's tags.
func (m mirror) lendTags(ctx context.Context, gitDir string) error {
	list, err := tags(ctx, m.git())
	if err != nil || len(list) == 0 {
		return err
	}
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, t := range list {
		fmt.Fprintf(&packed, "%s %s\n", t.oid, t.ref)
		if t.oid != t.commit {
			fmt.Fprintf(&packed, "^%s\n", t.commit)
		}
	}
	return os.WriteFile(filepath.Join(gitDir, "packed-refs"), []byte(packed.String()), 0o600)
}
