package office

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// rich is a document with every feature that a file can do without.
func rich() *loomv1.DocumentSpec {
	return &loomv1.DocumentSpec{
		Version: "0.2", Title: "Rich", Styles: &loomv1.DocumentStyles{PrimaryColor: "#112233"},
		Sections: []*loomv1.DocumentSection{{
			Id: "a", Heading: "A", Body: "As Figure 2 shows.", Callouts: []*loomv1.Callout{{Kind: "note", Text: "Mind the step."}},
			Table: &loomv1.SpecTable{Caption: "T", Headers: []string{"x", "y"}, Formats: map[string]string{"y": "usd"}},
		}},
		Figures: []*loomv1.Figure{
			{Id: "f1", Section: "a", Caption: "The plan", Alt: "A plan", Image: "plan.png"},
			{Id: "f2", Section: "a", Caption: "The trend", Alt: "It rises", Chart: &loomv1.SpecChart{Kind: "bar", Categories: []string{"q"}, Series: []*loomv1.ChartSeries{{Name: "s", Values: []float64{1}}}}},
		},
	}
}

// has says whether a spec has a feature.
func has(spec proto.Message, o Options, name string) bool {
	for _, f := range features {
		if f.name == name {
			_, _, dropped := without(spec, o, []feature{f})
			return len(dropped) == 1
		}
	}
	return false
}

// A file that cannot be made is made poorer, in the stated order, and what it lacks is
// told with the reason; at last it is Markdown.
func TestDOC02_TheWayDown(t *testing.T) {
	longtest.Skip(t)
	if got := strings.Join(Features(), ", "); got != "charts, pictures, callouts, styles, merged cells and formats of tables" {
		t.Errorf("features in the order %s", got)
	}
	for _, tt := range []struct {
		breaks  []string // features that the writer cannot write
		formats []string // that it cannot write at all
		format  string
		dropped []string
	}{
		{nil, nil, "docx", nil},
		{[]string{"charts"}, nil, "docx", []string{"charts"}},
		{[]string{"pictures"}, nil, "docx", []string{"pictures"}},
		{[]string{"callouts"}, nil, "docx", []string{"callouts"}},
		{[]string{"styles"}, nil, "docx", []string{"styles"}},
		{[]string{"merged cells and formats of tables"}, nil, "docx", []string{"merged cells and formats of tables"}},
		{[]string{"charts", "pictures"}, nil, "docx", []string{"charts", "pictures"}},
		{[]string{"charts", "callouts"}, nil, "docx", []string{"charts", "pictures", "callouts"}},
		{nil, []string{"docx"}, "md", nil},
		{[]string{"charts"}, []string{"docx"}, "md", Features()},
		{nil, []string{"docx", "md"}, "", nil},
	} {
		spec := rich()
		before := document.Hash(spec)
		renders := 0
		made, err := makeWith(func(m proto.Message, format string, o Options) (*Result, error) {
			renders++
			for _, name := range tt.breaks {
				if has(m, o, name) {
					return nil, errors.New("no " + name)
				}
			}
			if slices.Contains(tt.formats, format) {
				return nil, errors.New("no " + format)
			}
			return Render(m, format, o)
		}, spec, "docx", Options{Image: func(string) ([]byte, error) { return square(t), nil }, Carry: document.Canonical(spec)})
		if tt.format == "" {
			if err == nil || !strings.Contains(err.Error(), "no docx") {
				t.Errorf("%v, %v: %v, %v; want why there is no docx", tt.breaks, tt.formats, made, err)
			}
			continue
		}
		if err != nil || made.Format != tt.format || !slices.Equal(made.Dropped, tt.dropped) {
			t.Errorf("%v, %v: %+v, %v; want %s without %v", tt.breaks, tt.formats, made, err, tt.format, tt.dropped)
			continue
		}
		for _, name := range tt.dropped {
			if !slices.ContainsFunc(made.Downgrades, func(s string) bool { return strings.HasPrefix(s, name+" left out: no ") }) {
				t.Errorf("%v: of %q it says %q", tt.breaks, name, made.Downgrades)
			}
		}
		if made.Format == "md" && !strings.HasPrefix(made.Downgrades[0], "no docx could be made, so it is Markdown: no ") {
			t.Errorf("it says %q", made.Downgrades)
		}
		if strings.Contains(strings.Join(made.Downgrades, "\n"), leftOut) {
			t.Errorf("it speaks of pictures that nobody gave: %q", made.Downgrades)
		}
		if document.Hash(spec) != before {
			t.Errorf("%v: the spec was changed", tt.breaks)
		}
		if made.Format == "docx" {
			back, err := Open(made.Data)
			if err != nil || document.HashBytes(back) != before {
				t.Errorf("%v: the whole spec does not come back: %v", tt.breaks, err)
			}
		}
		if renders > 2*len(features)+3 {
			t.Errorf("%v: rendered %d times", tt.breaks, renders)
		}
	}
}

// What is left out of a file stands there as its text, and figures keep their numbers.
func TestDOC02_WhatIsLeftOutStandsAsItsText(t *testing.T) {
	poorer, o, dropped := without(rich(), Options{Image: func(string) ([]byte, error) { return square(t), nil }}, features)
	if len(dropped) != len(features) {
		t.Fatalf("dropped %v", dropped)
	}
	r, err := Render(poorer, "md", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Figure 1: The plan", "A plan", "Figure 2: The trend", "It rises", "**note:** Mind the step."} {
		if !strings.Contains(string(r.Data), want) {
			t.Errorf("it lacks %q:\n%s", want, r.Data)
		}
	}
}

// A file that does not give its spec back counts as none.
func TestDOC06_AFileIsReadBack(t *testing.T) {
	spec := rich()
	spec.Figures = nil
	carry := document.Canonical(spec)
	for _, tt := range []struct {
		data string
		want string
	}{{"PK, and no package", "cannot be read back"}, {"<html>" + pageMark + "{}</script>", "gives another spec back"}} {
		m, err := makeWith(func(m proto.Message, format string, o Options) (*Result, error) {
			if format == "md" {
				return Render(m, format, o)
			}
			return &Result{Data: []byte(tt.data)}, nil
		}, spec, "docx", Options{Carry: carry})
		if err != nil || m.Format != "md" || !strings.Contains(m.Downgrades[0], tt.want) {
			t.Errorf("%q: %+v, %v; want Markdown, because it %s", tt.data, m, err, tt.want)
		}
	}
}
