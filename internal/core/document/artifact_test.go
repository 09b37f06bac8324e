package document_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A file is the one of its record, or somebody's.
func TestDOC07_AFileAndItsRecord(t *testing.T) {
	spec := document.Skeleton(document.Minimal("docx", "Goal"))
	record := func(data string) []byte {
		return document.JSON(document.NewRecord(document.Making{Artifact: "a.docx", Format: "docx", Spec: spec, Data: []byte(data), At: "2026-03-01T00:00:00Z"}))
	}
	for _, tt := range []struct {
		name         string
		file, record []byte
		want         document.State
	}{
		{"nothing", nil, nil, document.NoFile},
		{"a record alone", nil, record("one"), document.NoFile},
		{"a file alone", []byte("one"), nil, document.UnknownFile},
		{"a record that is none", []byte("one"), []byte("{"), document.UnknownFile},
		{"as made", []byte("one"), record("one"), document.AsMade},
		{"changed", []byte("two"), record("one"), document.ChangedByHand},
		{"empty now", []byte{}, record("one"), document.ChangedByHand},
	} {
		if r, got := document.StateOf(tt.file, tt.record); got != tt.want || (got == document.AsMade) != (r != nil && got == document.AsMade) {
			t.Errorf("%s: state %d, record %v, want %d", tt.name, got, r, tt.want)
		}
	}
}

// A record says how much of the file before is new.
func TestDOC05_ARecordSaysWhatChanged(t *testing.T) {
	o := document.Minimal("docx", "## A\n## B\n## C\n## D")
	before, after := document.Skeleton(o), document.Skeleton(o)
	after.(*loomv1.DocumentSpec).Sections[0].Body = "Another."
	r := document.NewRecord(document.Making{Artifact: "a.docx", Format: "docx", Spec: after, Outline: o, Before: before, Data: []byte("x"), At: "2026-03-01T00:00:00Z"})
	if r.Mode != "granular" || r.GetChangeRatio() <= 0 || r.GetChangeRatio() > 0.4 || r.OutlineHash != document.Hash(o) {
		t.Errorf("it says %v", r)
	}
	if again := document.NewRecord(document.Making{Artifact: "a.docx", Format: "docx", Spec: after, Data: []byte("x"), At: "2026-03-01T00:00:00Z"}); again.Mode != "bulk" || again.OutlineHash != document.Hash(o) {
		t.Errorf("of a new file it says %v", again)
	}
}

// A record says where a host gives this very version.
func TestDOC01_ARecordHasTheRouteOfItsVersion(t *testing.T) {
	making := document.Making{Artifact: "a b.docx", Format: "docx", Spec: document.Skeleton(document.Minimal("docx", "Goal")), Data: []byte("x"), At: "2026-03-01T00:00:00Z"}
	if r := document.NewRecord(making); r.Url != "" {
		t.Errorf("of no project: %q", r.Url)
	}
	making.Project, making.Path = "shop", "docs/a b.docx"
	r := document.NewRecord(making)
	if want := "/api/v1/artifacts/docs%2Fa%20b.docx?project=shop&v=" + strings.TrimPrefix(r.FileHash, "sha256:")[:16]; r.Url != want {
		t.Errorf("the route is %q, want %q", r.Url, want)
	}
	if _, err := document.Read("", document.JSON(r), "record"); err != nil {
		t.Error(err)
	}
}

// Rules and readers judge together: the worse of both counts.
func TestDOC01_AReviewIsOfRulesAndReaders(t *testing.T) {
	yes, no := true, false
	found := &loomv1.ReviewReport{SpecVersion: "0.2", Checks: &loomv1.ReviewChecks{}, Severity: "warn", BlockCommit: &no, Findings: []*loomv1.ReviewFinding{{Rule: "style/phrase", Severity: "warn", Message: "m"}}}
	for _, tt := range []struct {
		name            string
		judged          *loomv1.ReviewReport
		done            []*loomv1.Patch
		severity, rules string
		block           bool
	}{
		{"nobody", nil, nil, "warn", "style/phrase", false},
		{"all is well", &loomv1.ReviewReport{Severity: "ok"}, nil, "warn", "style/phrase", false},
		{"worse", &loomv1.ReviewReport{Severity: "error", BlockCommit: &yes, Findings: []*loomv1.ReviewFinding{{Rule: "goal", Patch: "p1", Severity: "error", Message: "m"}, {Rule: "model/x", Severity: "info", Message: "m"}}}, nil, "error", "style/phrase model/goal model/x", true},
		{
			"mended", &loomv1.ReviewReport{
				Severity: "error", RecommendedPatches: []*loomv1.Patch{{Id: "p1", Target: "title"}, {Id: "p2", Target: "subtitle"}},
				Findings: []*loomv1.ReviewFinding{
					{Rule: "named", Patch: "p1", Severity: "error", Message: "m"},
					{Rule: "refused", Patch: "p2", Severity: "warn", Message: "m"},
					{Rule: "there", Path: "sections[0].body", Severity: "error", Message: "m"},
					{Rule: "elsewhere", Path: "sections[1].body", Severity: "info", Message: "m"},
				},
			},
			[]*loomv1.Patch{{Id: "p1", Target: "title"}, {Id: "p2", Target: "sections[0].body"}},
			"warn", "style/phrase model/refused model/elsewhere", false,
		},
	} {
		r := document.Merge(found, tt.judged, tt.done)
		var rules []string
		for _, f := range r.Findings {
			rules = append(rules, f.Rule)
			if f.Patch != "" {
				t.Errorf("%s: a finding names a patch that the report does not have", tt.name)
			}
		}
		if r.Severity != tt.severity || r.GetBlockCommit() != tt.block || strings.Join(rules, " ") != tt.rules {
			t.Errorf("%s: %v", tt.name, r)
		}
	}
	if len(found.Findings) != 1 {
		t.Error("what was found is changed")
	}
}

// Markdown in the place of a spec is parted by the outline's titles; what it lacks says
// so where it would stand.
func TestDOC02_MarkdownInThePlaceOfASpec(t *testing.T) {
	o := document.Minimal("docx", "## The State\n## What it costs\n## Who pays")
	o.Sections[1].Goal = "Both offers"
	for _, tt := range []struct {
		name, text string
		bodies     []string
		missing    string
	}{
		{"nothing", "", []string{"", "", ""}, "sec-1 sec-2 sec-3"},
		{"numbers, capitals and marks aside", "# Title\n\n## 1. the state\n\nIt leans.\n\n### **What  it costs** ##\n\nMuch.\n# 3) Who pays\nWe do.", []string{"It leans.", "Much.", "We do."}, ""},
		{"what stands before", "A lead.\n\n## What it costs\nMuch.", []string{"", "A lead.\n\nMuch.", ""}, "sec-1 sec-3"},
		{"other headings", "## The state\n### History\nOld.\n```\n## Who pays\n```\n", []string{"**History**\n\nOld.\n```\n## Who pays\n```", "", ""}, "sec-2 sec-3"},
		{"a section twice", "## The state\nOne.\n## What it costs\nMuch.\n## The state\nTwo.", []string{"One.\n\nTwo.", "Much.", ""}, "sec-3"},
	} {
		spec, missing := document.FromMarkdown(o, tt.text)
		var bodies []string
		for i, s := range spec.Sections {
			bodies = append(bodies, s.Body)
			noted := len(s.Callouts) == 1 && strings.HasPrefix(s.Callouts[0].Text, document.MissingMark)
			if noted != (s.Body == "") || s.OutlineId != o.Sections[i].Id {
				t.Errorf("%s: section %v", tt.name, s)
			}
		}
		if diff := cmp.Diff(tt.bodies, bodies); diff != "" || strings.Join(missing, " ") != tt.missing {
			t.Errorf("%s: missing %v, bodies -want +got\n%s", tt.name, missing, diff)
		}
		if _, err := document.Read("", document.JSON(spec), "document"); err != nil {
			t.Errorf("%s: it is no spec: %v", tt.name, err)
		}
	}
}

// An artifact is a process's own where the record names it with its hash; how it is
// spaced does not count. Anything else is a person's.
func TestDOC07_WhatAPersonMadeIsNoProcessesOwn(t *testing.T) {
	o := document.Minimal("docx", "Goal")
	spec := document.Skeleton(o)
	set := &loomv1.PatchSet{Patches: []*loomv1.Patch{{Target: "title", Action: "normalize"}}}
	review := document.Review{}.Run(spec)
	made := map[string][]byte{"outline": document.JSON(o), "spec": document.JSON(spec), "review": document.JSON(review), "patches": document.JSON(set)}
	record := document.JSON(document.NewRecord(document.Making{Artifact: "a.docx", Format: "docx", Spec: spec, Data: []byte("x"), At: "2026-03-01T00:00:00Z", Written: document.Written(made)}))
	byHand := document.JSON(document.NewRecord(document.Making{Artifact: "a.docx", Format: "docx", Spec: spec, Outline: o, Data: []byte("x"), At: "2026-03-01T00:00:00Z"}))
	with := func(name string, data []byte) map[string][]byte {
		m := maps.Clone(made)
		m[name] = data
		return m
	}
	other := bytes.Replace(made["spec"], []byte("Goal"), []byte("Goat"), 1)
	for _, tt := range []struct {
		name      string
		record    []byte
		artifacts map[string][]byte
		want      string
	}{
		{"as written", record, made, ""},
		{"spaced otherwise", record, with("spec", document.Canonical(spec)), ""},
		{"the outline changed", record, with("outline", bytes.Replace(made["outline"], []byte("Goal"), []byte("Goat"), 1)), "outline"},
		{"the spec changed", record, with("spec", other), "spec"},
		{"the review changed", record, with("review", bytes.Replace(made["review"], []byte(`"severity": "`), []byte(`"specHash": "sha256:`+strings.Repeat("0", 64)+`", "severity": "`), 1)), "review"},
		{"the review is none", record, with("review", []byte("{}")), "review"},
		{"patches added", record, with("patches", []byte(`{"patches":[{"target":"a","action":"remove"}]}`)), "patches"},
		{"one is gone", record, with("patches", nil), ""},
		{"empty", record, with("outline", []byte{}), "outline"},
		{"no record", nil, made, "outline spec review patches"},
		{"a record of a file that a person made", byHand, made, "outline spec review patches"},
	} {
		if got := strings.Join(document.Foreign(tt.record, tt.artifacts), " "); got != tt.want {
			t.Errorf("%s: foreign %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What an append would add is there as it stands; a text within a text.
func TestDOC04_WhatASpecHolds(t *testing.T) {
	spec := &loomv1.DocumentSpec{Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "A", Body: "One.\n\nTwo & three."}}}
	for value, want := range map[any]bool{"Two & three.": true, "Four": false, 5.0: false} {
		if document.Holds(spec, value) != want {
			t.Errorf("Holds(%v) is %t", value, !want)
		}
	}
	if !document.Holds(spec, map[string]any{"body": "One.\n\nTwo & three.", "id": "a", "heading": "A"}) || document.Holds(spec, map[string]any{"id": "a"}) {
		t.Error("sections are not compared whole")
	}
}
