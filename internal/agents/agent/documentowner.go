package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// theirs are the patches that a person left beside a document.
type theirs struct {
	file    []byte // as it was when the work began
	patches []*loomv1.Patch
	refused *loomv1.PatchReport // what became of them
}

// someonesOwn refuses to go on where the work would write over what a person made or
// changed: all files that the stages of the process write are looked at as they were
// before the work, and held against the record, so that no model is asked in vain.
// A person's patches are no obstacle: they are taken along.
func (p *paper) someonesOwn(ctx context.Context, base string) (*fault.Error, error) {
	names := append(slices.Collect(p.names()), p.otherRecords()...)
	dir, done, err := p.checkoutOf(ctx, git.Cone{Dirs: []string{".loom"}}.With(names), base, base) // only where these lie
	if err != nil {
		return nil, err
	}
	defer done()
	there := map[string][]byte{}
	for _, name := range names {
		data, err := readIn(dir, name)
		if err != nil {
			return fault.New("document/changed", "there is something that cannot be read as a file").At(name).Because(err), nil
		}
		there[name] = data
	}
	if before, err := document.Read("", there[p.files.Spec], ""); err == nil {
		p.before = before
	}
	problems := append(p.foreignFiles(there), p.foreignArtifacts(there)...)
	if len(problems) == 0 {
		return nil, nil
	}
	var lines []string
	for _, e := range problems {
		lines = append(lines, e.Where+": "+e.Message)
	}
	return fault.New(problems[0].Code, "%s", strings.Join(lines, "; ")).Want(moveAway), nil
}

// names are the files that belong to the document, one of each.
func (p *paper) names() func(yield func(string) bool) {
	list := []string{p.files.Outline, p.files.Spec, p.files.Review, p.files.Patches, p.files.Record, p.files.File, p.artifact + ".md"}
	slices.Sort(list)
	return slices.Values(slices.Compact(list))
}

// otherRecords are the records of the document in its other formats. They vouch for outline,
// spec, review and patches too, which all formats have in common.
func (p *paper) otherRecords() (names []string) {
	for _, format := range office.Formats {
		if name := document.FilesOf(p.artifact, format).Record; name != p.files.Record {
			names = append(names, name)
		}
	}
	return names
}

// writes says which files the stages of this process write.
func (p *paper) writes(name string) bool {
	by := map[string][]loomv1.DocumentStage{
		"outline": {planning}, "spec": {rendering, reviewing}, "review": {reviewing}, "patches": {reviewing}, "file": {materializing},
	}[name]
	return slices.Contains(by, p.stage) || slices.ContainsFunc(p.brief.Definition.GetNodes(), func(n *loomv1.NodeDefinition) bool {
		return slices.Contains(by, n.GetPhase().GetDocument())
	})
}

const moveAway = "move it away or rename it and submit the work again, or have the document called otherwise with another artifact"

// foreignFiles are the rendered files, and the Markdown that may take their place, that
// are not those of the record.
func (p *paper) foreignFiles(there map[string][]byte) (problems []*fault.Error) {
	if !p.writes("file") {
		return nil
	}
	if data := there[p.files.Record]; data != nil {
		if _, err := document.Read(p.files.Record, data, "record"); err != nil {
			problems = append(problems, fault.New("document/changed", "there is such a file, which is no record").At(p.files.Record).Want(moveAway))
		}
	}
	for _, name := range slices.Compact([]string{p.files.File, p.artifact + ".md"}) {
		made, state := document.StateOf(there[name], there[p.files.Record])
		if made != nil && made.ArtifactId != baseName(name) && there[name] != nil { // it is about the other one
			state = document.UnknownFile
		}
		switch {
		case there[name] == nil:
		case state == document.ChangedByHand:
			problems = append(problems, fault.New("document/changed", "somebody changed the file since it was made").At(name).Want(moveAway))
		case state == document.UnknownFile:
			problems = append(problems, fault.New("document/changed", "there is such a file, and no record that it was made here").At(name).Want(moveAway))
		}
	}
	return problems
}

// foreignArtifacts are the artifacts that no record vouches for. A person's patches are
// taken; what is wrong with them is told.
func (p *paper) foreignArtifacts(there map[string][]byte) (problems []*fault.Error) {
	artifacts := map[string][]byte{}
	for name, file := range p.files.Artifacts() {
		artifacts[name] = there[file]
	}
	unknown := document.Foreign(there[p.files.Record], artifacts)
	for _, record := range p.otherRecords() {
		others := document.Foreign(there[record], artifacts)
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return !slices.Contains(others, name) })
	}
	for _, name := range unknown {
		switch file := p.files.Artifacts()[name]; {
		case !p.writes(name):
		case name == "patches":
			if err := p.theirs.read(file, artifacts[name]); err != nil {
				problems = append(problems, fault.From(err))
			}
		case there[p.files.Record] == nil:
			problems = append(problems, fault.New("document/changed", "there is such a file, and no record that a process wrote it").At(file).Want(moveAway))
		default:
			problems = append(problems, fault.New("document/changed", "somebody changed the file since it was written, or made it").At(file).Want(moveAway))
		}
	}
	return problems
}

func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// read takes a person's patches. Those of models and rules, which an earlier run left
// among them, are carried out already.
func (t *theirs) read(file string, data []byte) error {
	m, err := document.Read(file, data, "patches")
	if err != nil {
		return err
	}
	set, _ := m.(*loomv1.PatchSet)
	t.file = data
	for _, x := range set.Patches {
		if x.By == "" || x.By == "person" {
			x.By = "person"
			t.patches = append(t.patches, x)
		}
	}
	return nil
}

// first carries out a person's patches before all others. Where an earlier cycle has done
// so, and the spec was written again since, what they replace is replaced and what they
// append is appended where it is not there any more; what they remove, move and rename was
// meant for the spec before.
func (p *paper) first() {
	list := p.theirs.patches
	if p.joined != nil && !bytes.Equal(p.joined, p.theirs.file) {
		list = slices.DeleteFunc(slices.Clone(list), func(x *loomv1.Patch) bool {
			return x.Action != "replace" && (x.Action != "append" || document.Holds(p.base, x.Value.AsInterface()))
		})
	}
	p.base, p.theirs.refused = document.Apply(p.base, list)
}

// findings tell in a review which of a person's patches were refused.
func (t *theirs) findings() (list []*loomv1.ReviewFinding) {
	for i, r := range t.refused.GetResults() {
		if !r.Applied {
			list = append(list, &loomv1.ReviewFinding{Rule: "person/patch", Path: r.Target, Severity: "warn", Message: fmt.Sprintf("the person's patch %s was refused: %s", orNumber(r.Id, i), r.Message)})
		}
	}
	return list
}
