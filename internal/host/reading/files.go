package reading

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what is given of a repository.
const (
	filePart     = 512 << 10 // bytes of an answer
	mostFile     = 8 << 20   // of a file
	mostEntries  = 1000      // of a directory, in an answer
	mostCompared = 2000      // files of a comparison
	someCommits  = 50
	mostCommits  = 200
)

// Files reads the repositories of projects at any position: their branches, tags and
// commits, and what executions changed that is not committed yet, and never what lies in
// a checkout, which is its user's. Secrets are taken out of texts.
type Files struct {
	*Views
	Secrets *redact.Secrets
	Dir     string // of the data, with the files that executions changed
}

// place is a project's repository.
type place struct {
	*git.Repository
	dir, project, branch string
}

// of is the repository of a project.
func (f *Files) of(ctx context.Context, id string) (*place, error) {
	p, err := f.registered(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := git.Open(ctx, p.Repository)
	return &place{r, f.Dir, p.Id, p.TargetBranch}, err
}

// at is a position in it; the target branch where none is named.
func (p *place) at(ctx context.Context, rev string) (*git.Revision, error) {
	return p.Revision(ctx, p.dir, p.project, cmp.Or(rev, p.branch))
}

// at is a position in a project's repository.
func (f *Files) at(ctx context.Context, project, rev string) (*git.Revision, error) {
	p, err := f.of(ctx, project)
	if err != nil {
		return nil, err
	}
	return p.at(ctx, rev)
}

var fileKinds = map[git.EntryKind]loomv1.FileKind{
	git.Regular: loomv1.FileKind_FILE_KIND_FILE, git.Directory: loomv1.FileKind_FILE_KIND_DIRECTORY,
	git.Link: loomv1.FileKind_FILE_KIND_LINK, git.Submodule: loomv1.FileKind_FILE_KIND_SUBMODULE,
}

// List lists a directory.
func (f *Files) List(ctx context.Context, q *loomv1.FilesRequest) (*loomv1.FilesReply, error) {
	v, err := f.at(ctx, q.Project, q.Rev)
	if err != nil {
		return nil, err
	}
	all, err := v.List(ctx, q.Path)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.FilesReply{Commit: v.Commit}
	if q.After != "" {
		i := slices.IndexFunc(all, func(e git.Entry) bool { return e.Name == q.After })
		if i < 0 {
			return nil, fault.New("git/unknown-line", "the directory has no such entry").At("after").Got(q.After).Want("next of an answer about the same commit")
		}
		all = all[i+1:]
	}
	if len(all) > mostEntries {
		all, reply.Next = all[:mostEntries], all[mostEntries-1].Name
	}
	for _, e := range all {
		reply.Entries = append(reply.Entries, &loomv1.FileEntry{
			Name: e.Name, Kind: fileKinds[e.Kind], Size: uint64(max(e.Size, 0)), Executable: e.Executable,
		})
	}
	return reply, nil
}

// Part reads a part of a file.
func (f *Files) Part(ctx context.Context, q *loomv1.FileRequest) (*loomv1.FileReply, error) {
	if q.Limit > filePart {
		return nil, fault.New("usage/argument", "at most %d bytes an answer", filePart).At("limit")
	}
	v, err := f.at(ctx, q.Project, q.V)
	if err != nil {
		return nil, err
	}
	data, err := v.File(ctx, q.Path, mostFile)
	if err != nil {
		return nil, err
	}
	data = f.clean(data)
	size := uint64(len(data))
	from := min(q.Offset, size)
	return &loomv1.FileReply{V: v.Commit, Size: size, Data: data[from:min(from+uint64(cmp.Or(q.Limit, filePart)), size)]}, nil
}

// clean takes secrets out of a text. What is no text is left as it is.
func (f *Files) clean(data []byte) []byte {
	if !utf8.Valid(data) {
		return data
	}
	return []byte(f.Secrets.Text(string(data)))
}

// Blame says which commits the lines of a file came with.
func (f *Files) Blame(ctx context.Context, q *loomv1.BlameRequest) (*loomv1.BlameReply, error) {
	v, err := f.at(ctx, q.Project, q.Rev)
	if err != nil {
		return nil, err
	}
	spans, err := v.Blame(ctx, q.Path)
	if err != nil {
		return nil, err
	}
	reply, known := &loomv1.BlameReply{Commit: v.Commit}, map[string]uint32{}
	for _, s := range spans {
		at, there := known[s.Origin.Commit]
		if !there {
			at = count(len(reply.Commits))
			known[s.Origin.Commit] = at
			reply.Commits = append(reply.Commits, &loomv1.RepositoryCommit{
				Commit: s.Origin.Commit, Author: s.Origin.Author, Subject: f.Secrets.Text(s.Origin.Subject),
				Time: timestamppb.New(s.Origin.Time), Boundary: s.Origin.Boundary,
			})
		}
		reply.Spans = append(reply.Spans, &loomv1.BlameSpan{From: count(s.From), Lines: count(s.Lines), Commit: at})
	}
	return reply, nil
}

func count(n int) uint32 { return uint32(max(n, 0)) } //nolint:gosec // lines of a file of 2 MiB, or fewer

// Commits lists the history of a repository, or of a file in it.
func (f *Files) Commits(ctx context.Context, q *loomv1.CommitsRequest) (*loomv1.CommitsReply, error) {
	if q.Limit > mostCommits {
		return nil, fault.New("usage/argument", "at most %d commits an answer", mostCommits).At("limit")
	}
	v, err := f.at(ctx, q.Project, q.Rev)
	if err != nil {
		return nil, err
	}
	most := int(cmp.Or(q.Limit, someCommits))
	list, err := v.Log(ctx, q.Path, q.After, most+1)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.CommitsReply{}
	if len(list) > most {
		list, reply.Next = list[:most], list[most-1].Commit
	}
	for _, c := range list {
		reply.Commits = append(reply.Commits, &loomv1.RepositoryCommit{
			Commit: c.Commit, Author: c.Author, Subject: f.Secrets.Text(c.Subject), Time: timestamppb.New(c.Time),
		})
	}
	return reply, nil
}

// Compare says how two positions differ.
func (f *Files) Compare(ctx context.Context, q *loomv1.CompareRequest) (*loomv1.CompareReply, error) {
	p, err := f.of(ctx, q.Project)
	if err != nil {
		return nil, err
	}
	to, err := p.at(ctx, q.To)
	if err != nil {
		return nil, err
	}
	from, err := to.Before(ctx)
	if q.From != "" {
		from, err = p.at(ctx, q.From)
	}
	if err != nil {
		return nil, err
	}
	list, diff, cut, err := to.Compare(ctx, from, q.Path)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.CompareReply{To: to.Commit, FilesTotal: count(len(list)), Diff: f.Secrets.Text(validText(diff)), Cut: cut}
	if from != nil {
		reply.From = from.Commit
	}
	for _, c := range list[:min(len(list), mostCompared)] {
		reply.Files = append(reply.Files, &loomv1.ComparedFile{
			Path: c.Path, Added: count(c.Added), Removed: count(c.Removed), Binary: c.Binary, Created: !c.Before, Deleted: !c.After,
		})
	}
	return reply, nil
}
