package document

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Files are the names of what belongs to one document.
type Files struct{ Outline, Spec, Review, Patches, File, Record string }

// FilesOf are the files of an artifact that becomes a file of a format. The record is
// named after the file that was asked for, also where another one was made.
func FilesOf(artifact, format string) Files {
	file := artifact + "." + format
	return Files{
		Outline: artifact + ".outline.json", Spec: artifact + ".spec.json", Review: artifact + ".review.json", Patches: artifact + ".patches.json",
		File: file, Record: RecordName(file),
	}
}

// RecordName is what the record of a file is called.
func RecordName(file string) string { return file + ".record.json" }

// SpecKind is the kind of spec that a file of a format is made of.
func SpecKind(format string) string {
	switch format {
	case "xlsx":
		return "sheet"
	case "pptx":
		return "presentation"
	}
	return "document"
}

// State is how a file stands to its record.
type State int

// The states of a file.
const (
	NoFile State = iota
	AsMade
	ChangedByHand
	UnknownFile // there is no record that fits
)

// StateOf tells how a file stands to its record, which it reads; nil for what is not
// there. A record without a hash does not vouch for its file.
func StateOf(file, record []byte) (*loomv1.ArtifactRecord, State) {
	m, err := Read("", record, "record")
	r, _ := m.(*loomv1.ArtifactRecord)
	switch {
	case err != nil || r == nil:
		r = nil
		if file == nil {
			return nil, NoFile
		}
		return nil, UnknownFile
	case file == nil:
		return r, NoFile
	case r.FileHash != HashBytes(file):
		return r, ChangedByHand
	}
	return r, AsMade
}

// Artifacts are the names of what a process writes beside a file.
func (f Files) Artifacts() map[string]string {
	return map[string]string{"outline": f.Outline, "spec": f.Spec, "review": f.Review, "patches": f.Patches}
}

// Written are the hashes of artifacts, by what [Files.Artifacts] calls them; one that
// is not there, or that cannot be read, has none.
func Written(artifacts map[string][]byte) *loomv1.WrittenArtifacts {
	hash := func(name string) string {
		kind := name
		if name == "spec" {
			kind = ""
		}
		if m, err := Read("", artifacts[name], kind); err == nil {
			return Hash(m)
		}
		return ""
	}
	return &loomv1.WrittenArtifacts{Outline: hash("outline"), Spec: hash("spec"), Review: hash("review"), Patches: hash("patches")}
}

// Foreign are the artifacts that somebody else than a process made or changed: those
// that the record (nil for none) does not name, or names with another hash. How one
// is spaced and sorted does not count.
func Foreign(record []byte, artifacts map[string][]byte) (names []string) {
	m, _ := Read("", record, "record") //nolint:errcheck // one that is not sound vouches for nothing
	r, _ := m.(*loomv1.ArtifactRecord)
	was, is := hashes(r.GetWritten()), hashes(Written(artifacts))
	for _, name := range []string{"outline", "spec", "review", "patches"} {
		if artifacts[name] != nil && (is[name] == "" || is[name] != was[name]) {
			names = append(names, name)
		}
	}
	return names
}

func hashes(w *loomv1.WrittenArtifacts) map[string]string {
	return map[string]string{"outline": w.GetOutline(), "spec": w.GetSpec(), "review": w.GetReview(), "patches": w.GetPatches()}
}

// Making is what a record is written of.
type Making struct {
	// Artifact is the file's name without directories, Format what it is.
	Artifact, Format string
	Spec             proto.Message
	// Outline is nil where there is none; then the spec's own word counts.
	Outline *loomv1.PlanningOutline
	Report  *loomv1.ReviewReport
	Data    []byte
	// Before is the spec that the file was made of before; nil for none.
	Before     proto.Message
	Downgrades []string
	// Written is what a process wrote beside the file; nil where a person made it.
	Written *loomv1.WrittenArtifacts
	// At is the time in RFC 3339, UTC.
	At string
	// Project is where the file will land, as Path; empty for a file of no project.
	Project, Path string
}

// RouteOf is where a host gives a version of a document: the path of its HTTP interface.
// The version is named by what the file is, which is known before it lands.
func RouteOf(project, path, fileHash string) string {
	const named = 16 // of the hash's digits
	hash := strings.TrimPrefix(fileHash, "sha256:")
	return "/api/v1/artifacts/" + escaped(path) + "?project=" + escaped(project) + "&v=" + hash[:min(len(hash), named)]
}

// escaped is a text as a segment of a path, or a value of a query, has it.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// NewRecord is the record of a file that was made.
func NewRecord(m Making) *loomv1.ArtifactRecord {
	r := &loomv1.ArtifactRecord{
		ArtifactId: m.Artifact, Kind: m.Format, SpecHash: Hash(m.Spec), FileHash: HashBytes(m.Data), ReviewMetrics: Metrics(m.Report),
		SemanticNodes: proto.Int32(int32(len(Nodes(m.Spec)))), //nolint:gosec // bounded by the spec's limits
		CreatedAt:     m.At, Downgrades: slices.Clone(m.Downgrades), Mode: "bulk", ChangeRatio: proto.Float64(1), Written: m.Written,
	}
	if m.Project != "" {
		r.Url = RouteOf(m.Project, m.Path, r.FileHash)
	}
	if r.OutlineHash = metadataOf(m.Spec).GetOutlineHash(); m.Outline != nil {
		r.OutlineHash = Hash(m.Outline)
	}
	if m.Before != nil && KindOf(m.Before).Name == KindOf(m.Spec).Name {
		c := Compare(m.Before, m.Spec)
		r.Mode, r.ChangeRatio = c.Mode, proto.Float64(c.Ratio)
	}
	return r
}

// Merge is what rules found together with what somebody judged: the findings of both,
// the worse severity, and no file where either says so. Judged may be nil. What one of the
// patches that were carried out since has mended is not found any more: the one that the
// finding names, or one of what it is about.
func Merge(found, judged *loomv1.ReviewReport, done []*loomv1.Patch) *loomv1.ReviewReport {
	r := proto.CloneOf(found)
	if judged == nil {
		return r
	}
	worst := judged.Severity
	left := slices.DeleteFunc(slices.Clone(judged.Findings), func(f *loomv1.ReviewFinding) bool { return mendedBy(f, judged.RecommendedPatches, done) })
	if len(left) < len(judged.Findings) {
		worst = "ok"
		for _, f := range left {
			worst = severities[max(slices.Index(severities, worst), slices.Index(severities, f.Severity))]
		}
	}
	for _, f := range left {
		f = proto.CloneOf(f)
		f.Patch = "" // it was refused
		if !strings.HasPrefix(f.Rule, "model/") {
			f.Rule = cut("model/"+f.Rule, 100)
		}
		r.Findings = append(r.Findings, f)
	}
	if slices.Index(severities, worst) > slices.Index(severities, r.Severity) {
		r.Severity = worst
	}
	block := r.GetBlockCommit() || judged.GetBlockCommit()
	r.BlockCommit = &block
	return r
}

// WithFindings is a report with what else was found; an error keeps the spec from becoming a
// file.
func WithFindings(r *loomv1.ReviewReport, list []*loomv1.ReviewFinding) *loomv1.ReviewReport {
	for _, f := range list {
		r.Findings = append(r.Findings, f)
		if slices.Index(severities, f.Severity) > slices.Index(severities, r.Severity) {
			r.Severity = f.Severity
		}
		if f.Severity == "error" {
			r.BlockCommit = proto.Bool(true)
		}
	}
	return r
}

// mendedBy says that a patch was carried out which a finding names among the recommended
// ones, or whose target is what the finding is about.
func mendedBy(f *loomv1.ReviewFinding, recommended, done []*loomv1.Patch) bool {
	return slices.ContainsFunc(done, func(p *loomv1.Patch) bool {
		named := p.Id == f.Patch && slices.ContainsFunc(recommended, func(x *loomv1.Patch) bool { return x.Id == p.Id && x.Target == p.Target && x.Action == p.Action })
		return f.Patch != "" && named || f.Path != "" && p.Target == f.Path
	})
}
