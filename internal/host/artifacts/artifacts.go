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
	"path"
	"slices"
	"strconv"
	"strings"

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
	FileAt(ctx context.Context, commit, path string) ([]byte, bool, error)
	Changes(ctx context.Context, commit string, paths []string) (map[string][]git.FileChange, error)
}

// Store is the documents of a branch.
type Store struct {
	Repository Repository
	Project    string
	Branch     string
	// Clean takes secrets out of a text; nil leaves it as it is.
	Clean func(string) string
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
	for _, c := range changes {
		r, file, err := s.recordAt(ctx, c.Commit, record)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		a.Versions = append(a.Versions, &loomv1.ArtifactVersion{
			Number: uint32(len(a.Versions) + 1), //nolint:gosec // as many as commits
			File:   path.Base(file), Kind: r.Kind, Commit: c.Commit, Time: timestamppb.New(c.Time), Author: c.Author, Subject: c.Subject,
			FileHash: r.FileHash, SpecHash: r.SpecHash, OutlineHash: r.OutlineHash, Nodes: uint32(r.GetSemanticNodes()), //nolint:gosec // checked to be none below 0
			Findings: uint32(max(r.GetReviewMetrics().GetFindings(), 0)), Downgrades: r.Downgrades, //nolint:gosec // as above
		})
	}
	if n := len(a.Versions); n > 0 {
		now, there, err := s.Repository.FileAt(ctx, head, path.Join(path.Dir(record), a.Versions[n-1].File))
		if err != nil {
			return nil, err
		}
		a.Changed = !there || document.HashBytes(now) != a.Versions[n-1].FileHash
	}
	return a, nil
}

// recordAt reads a record as a commit has it, and says which file it is about; nil for
// one that vouches for no file.
func (s *Store) recordAt(ctx context.Context, commit, record string) (*loomv1.ArtifactRecord, string, error) {
	data, there, err := s.Repository.FileAt(ctx, commit, record)
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
	v, err := s.version(ctx, q.Id, q.V)
	if err != nil {
		return nil, err
	}
	file := path.Join(path.Dir(q.Id), v.File)
	data, there, err := s.Repository.FileAt(ctx, v.Commit, file)
	switch {
	case err != nil:
		return nil, err
	case !there || document.HashBytes(data) != v.FileHash:
		return nil, fault.New("document/unknown", "the file of version %d is not the one of its record", v.Number).At("id").Got(q.Id)
	case len(data) > mostBytes:
		return nil, fault.New("document/limit", "the file has more than %d MiB", mostBytes>>20).At("id").Got(q.Id)
	}
	reply := &loomv1.ArtifactReply{Kind: v.Kind, Name: v.File, Version: v, V: strings.TrimPrefix(v.FileHash, "sha256:")}
	if q.Form == loomv1.ArtifactForm_ARTIFACT_FORM_PREVIEW {
		if data, err = s.preview(ctx, v, file, data); err != nil {
			return nil, err
		}
		reply.Kind, reply.Name = "html", v.File+".html"
	}
	if text := reply.Kind == "html" || reply.Kind == "md"; text && s.Clean != nil {
		data = []byte(s.Clean(string(data)))
	}
	reply.Size = uint64(len(data))
	from := min(q.Offset, reply.Size)
	reply.Data = data[from:min(from+uint64(cmp.Or(q.Limit, part)), reply.Size)]
	return reply, nil
}

// version finds a version of a document; none is named: the newest.
func (s *Store) version(ctx context.Context, id, v string) (*loomv1.ArtifactVersion, error) {
	list, err := s.List(ctx, &loomv1.ArtifactsRequest{Id: cmp.Or(id, " ")})
	if err != nil {
		return nil, err
	}
	all := list.Artifacts[0].Versions
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
		if strings.HasPrefix(strings.TrimPrefix(one.FileHash, "sha256:"), v) {
			return one, nil
		}
	}
	return nil, fault.New("document/unknown", "no version has this hash").At("v").Got(v)
}
