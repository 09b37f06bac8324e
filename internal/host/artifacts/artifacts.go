// Package artifacts gives the documents that landed in a repository: which there are,
// their versions, their bytes, and pages of what they say.
//
// A document is a file with a record beside it, as package document writes them; a
// version is a commit in which the record came or changed. It promises to give no other
// file of the repository, and no file that is not the one of its record. It reads
// commits, never a checkout, and changes nothing.
package artifacts

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what is listed and given.
const (
	listed     = 50        // documents of an answer
	mostListed = 200       // that can be asked for
	part       = 512 << 10 // bytes of an answer
	mostBytes  = 16 << 20  // of a file
	shortest   = 8         // of the beginning of a hash
	mostDigits = 6         // of a version's number
)

// Repository is where the documents are.
type Repository interface {
	FilesNamed(ctx context.Context, rev, suffix string) (commit string, paths []string, err error)
	CommitOf(ctx context.Context, rev string) (string, error)
	FileAt(ctx context.Context, commit, path string, most int64) (data []byte, size int64, there bool, err error)
	Changes(ctx context.Context, commit string, paths []string) (map[string][]git.FileChange, error)
}

// Store is the documents of a branch.
type Store struct {
	Repository Repository
	Project    string
	Branch     string
	// Clean takes secrets out of a text; nil leaves it as it is.
	Clean func(string) string
	// Recent has what was given last; nil keeps nothing.
	Recent *Recent
}

var recordEnd = document.RecordName("")

// List lists documents by name, or gives the one that the request names.
//
// It returns document/unknown for one that is not there.
func (s *Store) List(ctx context.Context, q *loomv1.ArtifactsRequest) (*loomv1.ArtifactsReply, error) {
	if q.Limit > mostListed {
		return nil, fault.New("usage/argument", "at most %d documents an answer", mostListed).At("limit")
	}
	head, records, err := s.Repository.FilesNamed(ctx, s.Branch, recordEnd)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.ArtifactsReply{}
	if q.Id != "" {
		if !slices.Contains(records, document.RecordName(q.Id)) {
			return nil, s.unknown(q.Id)
		}
		records = []string{document.RecordName(q.Id)}
	}
	records = slices.DeleteFunc(records, func(r string) bool { return q.After != "" && r <= document.RecordName(q.After) })
	if most := int(cmp.Or(q.Limit, listed)); len(records) > most {
		records = records[:most]
		reply.Next = strings.TrimSuffix(records[most-1], recordEnd)
	}
	changes, err := s.Repository.Changes(ctx, head, records)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		a, err := s.artifact(ctx, head, record, changes[record])
		if err != nil {
			return nil, err
		}
		if len(a.Versions) > 0 {
			reply.Artifacts = append(reply.Artifacts, a)
		}
	}
	if q.Id != "" && len(reply.Artifacts) == 0 {
		return nil, s.unknown(q.Id)
	}
	return reply, nil
}

func (s *Store) unknown(id string) error {
	return fault.New("document/unknown", "no such document landed on %s", s.Branch).At("id").Got(id).Want("a file's path from the top of the repository; artifacts lists them")
}

// artifact is a document with its versions. What the record of a commit does not vouch
// for is no version.
func (s *Store) artifact(ctx context.Context, head, record string, changes []git.FileChange) (*loomv1.Artifact, error) {
	a := &loomv1.Artifact{Project: s.Project, Id: strings.TrimSuffix(record, recordEnd), Changed: true}
	var err error
	if a.Versions, err = s.versions(ctx, record, changes); err != nil || len(a.Versions) == 0 {
		return a, err
	}
	last := a.Versions[len(a.Versions)-1]
	now, _, there, err := s.Repository.FileAt(ctx, head, path.Join(path.Dir(record), last.File), math.MaxInt64)
	if err != nil {
		return nil, err
	}
	a.Changed = !there || document.HashBytes(now) != last.FileHash
	return a, nil
}

// versions are the versions of a document, oldest first.
func (s *Store) versions(ctx context.Context, record string, changes []git.FileChange) (list []*loomv1.ArtifactVersion, err error) {
	for _, c := range changes {
		r, file, err := s.recordAt(ctx, c.Commit, record)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		list = append(list, &loomv1.ArtifactVersion{
			Number: uint32(len(list) + 1), //nolint:gosec // as many as commits
			File:   path.Base(file), Kind: r.Kind, Commit: c.Commit, Time: timestamppb.New(c.Time), Author: c.Author, Subject: c.Subject,
			FileHash: r.FileHash, SpecHash: r.SpecHash, OutlineHash: r.OutlineHash, Nodes: uint32(r.GetSemanticNodes()), //nolint:gosec // checked to be none below 0
			Findings: uint32(max(r.GetReviewMetrics().GetFindings(), 0)), Downgrades: r.Downgrades, //nolint:gosec // as above
		})
	}
	return list, nil
}

// recordAt reads a record as a commit has it, and says which file it is about; nil for
// one that vouches for no file.
func (s *Store) recordAt(ctx context.Context, commit, record string) (*loomv1.ArtifactRecord, string, error) {
	data, _, there, err := s.Repository.FileAt(ctx, commit, record, mostBytes)
	if err != nil || !there {
		return nil, "", err
	}
	m, err := document.Read(record, data, "record")
	r, _ := m.(*loomv1.ArtifactRecord)
	if err != nil || r == nil || r.FileHash == "" {
		return nil, "", nil //nolint:nilerr // it is no record
	}
	asked := strings.TrimSuffix(record, recordEnd)
	file := strings.TrimSuffix(asked, path.Ext(asked)) + "." + r.Kind // where none of the type could be made, another one was
	if r.ArtifactId != path.Base(file) {
		return nil, "", nil
	}
	return r, file, nil
}

// Part reads a part of a document's file, or of a page of what it says.
//
// It returns document/unknown for a document or a version that is not there,
// document/limit for one that is too large, and document/foreign for a page of one whose
// spec is not known.
func (s *Store) Part(ctx context.Context, q *loomv1.ArtifactRequest) (*loomv1.ArtifactReply, error) {
	if q.Limit > part {
		return nil, fault.New("usage/argument", "at most %d bytes an answer", part).At("limit")
	}
	w, err := s.whole(ctx, q)
	if err != nil {
		return nil, err
	}
	size := uint64(len(w.data))
	from := min(q.Offset, size)
	return &loomv1.ArtifactReply{
		Kind: w.kind, Name: w.name, Version: proto.CloneOf(w.version), V: hashOf(w.version), Size: size,
		Data: slices.Clone(w.data[from:min(from+uint64(cmp.Or(q.Limit, part)), size)]),
	}, nil
}

// whole is all of which parts are read. It is kept, so that whoever reads one part after
// another has the work done once.
func (s *Store) whole(ctx context.Context, q *loomv1.ArtifactRequest) (*whole, error) {
	head, err := s.Repository.CommitOf(ctx, s.Branch)
	if err != nil {
		return nil, err
	}
	k := key{s.Project, head, q.Id, strings.TrimPrefix(q.V, "sha256:"), q.Form}
	if w := s.Recent.get(k); w != nil {
		return w, nil
	}
	all, err := s.versionsOf(ctx, head, q.Id)
	if err != nil {
		return nil, err
	}
	v, err := named(all, q.V)
	if err != nil {
		return nil, err
	}
	w, err := s.make(ctx, q, v)
	if err != nil {
		return nil, err
	}
	if same, err := named(all, v.FileHash); err == nil && same == v { // which the hash names
		k.v = hashOf(v)
		s.Recent.put(k, w)
	}
	return w, nil
}

// make reads a version, and makes a page of it where that is asked for.
func (s *Store) make(ctx context.Context, q *loomv1.ArtifactRequest, v *loomv1.ArtifactVersion) (*whole, error) {
	file := path.Join(path.Dir(q.Id), v.File)
	data, size, there, err := s.Repository.FileAt(ctx, v.Commit, file, mostBytes)
	switch {
	case err != nil:
		return nil, err
	case size > mostBytes:
		return nil, fault.New("document/limit", "the file has more than %d MiB", mostBytes>>20).At("id").Got(q.Id)
	case !there || document.HashBytes(data) != v.FileHash:
		return nil, fault.New("document/unknown", "the file of version %d is not the one of its record", v.Number).At("id").Got(q.Id)
	}
	w := &whole{kind: v.Kind, name: v.File, version: v, data: data}
	if q.Form == loomv1.ArtifactForm_ARTIFACT_FORM_PREVIEW {
		if w.data, err = s.preview(ctx, v, file, data); err != nil {
			return nil, err
		}
		if len(w.data) > mostBytes {
			return nil, fault.New("document/limit", "the page has more than %d MiB", mostBytes>>20).At("id").Got(q.Id)
		}
		w.kind, w.name = "html", v.File+".html"
	}
	if text := w.kind == "html" || w.kind == "md"; text && s.Clean != nil {
		w.data = []byte(s.Clean(string(w.data)))
	}
	return w, nil
}

// versionsOf are the versions of a document up to a commit.
func (s *Store) versionsOf(ctx context.Context, head, id string) ([]*loomv1.ArtifactVersion, error) {
	record := document.RecordName(id)
	if _, _, there, err := s.Repository.FileAt(ctx, head, record, 0); err != nil {
		return nil, err
	} else if id == "" || !there {
		return nil, s.unknown(id)
	}
	changes, err := s.Repository.Changes(ctx, head, []string{record})
	if err != nil {
		return nil, err
	}
	all, err := s.versions(ctx, record, changes[record])
	if err == nil && len(all) == 0 {
		err = s.unknown(id)
	}
	return all, err
}

func hashOf(v *loomv1.ArtifactVersion) string { return strings.TrimPrefix(v.FileHash, "sha256:") }

// named finds a version of a document; none is named: the newest.
func named(all []*loomv1.ArtifactVersion, v string) (*loomv1.ArtifactVersion, error) {
	if v == "" {
		return all[len(all)-1], nil
	}
	if n, err := strconv.Atoi(v); err == nil && len(v) <= mostDigits {
		if n < 1 || n > len(all) {
			return nil, fault.New("document/unknown", "there is no such version").At("v").Got(v).Want("1 to %d", len(all))
		}
		return all[n-1], nil
	}
	if v = strings.TrimPrefix(v, "sha256:"); len(v) < shortest || strings.Trim(v, "0123456789abcdef") != "" {
		return nil, fault.New("usage/argument", "not a version").At("v").Got(v).Want("a number, or the file's hash or its beginning, at least %d of 0-9 and a-f", shortest)
	}
	for _, one := range slices.Backward(all) {
		if strings.HasPrefix(hashOf(one), v) {
			return one, nil
		}
	}
	return nil, fault.New("document/unknown", "no version has this hash").At("v").Got(v)
}
