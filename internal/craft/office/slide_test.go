package office

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"

	"google.golang.org/protobuf/types/known/structpb"
)

// slidesOf are the texts of a deck's slides, the title first.
func slidesOf(t *testing.T, files map[string][]byte) (list []string) {
	t.Helper()
	for i := 1; files[fmt.Sprintf("ppt/slides/slide%d.xml", i)] != nil; i++ {
		list = append(list, parseXML(t, files[fmt.Sprintf("ppt/slides/slide%d.xml", i)]).text("t"))
	}
	return list
}

// Every paragraph of a text is on a slide, on further ones where there is no room; only
// those beside a list or table are left to the speaker, and that is told.
func TestDOC06_EveryParagraphOfATextIsOnASlide(t *testing.T) {
	long := strings.Repeat("These words take up room. ", 20)
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "Roof", Sections: []*loomv1.DocumentSection{
		{Id: "why", Heading: "Why", Body: "The first paragraph.\n\nThe second paragraph."},
		{Id: "how", Heading: "How", Body: "One. " + long + "\n\nTwo. " + long + "\n\nThree."},
	}}
	r := render(t, "slides", d, "pptx")
	files := unzip(t, r.Data)
	slides := slidesOf(t, files)
	if len(slides) != 4 || len(r.Downgrades) > 0 || files["ppt/notesSlides/notesSlide2.xml"] != nil {
		t.Fatalf("%d slides, told %q: want the title, one of the first section, two of the second", len(slides), r.Downgrades)
	}
	for i, want := range []string{"The second paragraph.", "One.", "Two."} {
		if !strings.Contains(slides[i+1], want) {
			t.Errorf("slide %d says %q, want %q", i+2, slides[i+1], want)
		}
	}
	if !strings.Contains(slides[3], "How (2)") || !strings.Contains(slides[3], "Three.") {
		t.Errorf("the last slide says %q", slides[3])
	}
	d.Sections[0].Bullets = []string{"It leaks"}
	r = render(t, "slides", d, "pptx")
	if notes := parseXML(t, unzip(t, r.Data)["ppt/notesSlides/notesSlide2.xml"]).text("t"); !strings.Contains(notes, "The second paragraph.") {
		t.Errorf("the speaker says %q", notes)
	}
	if !slices.Contains(r.Downgrades, "pptx has paragraphs that stand beside a list or a table with what the speaker says") {
		t.Errorf("it is not told where the paragraphs are: %q", r.Downgrades)
	}
}

// A code block is not cut, whatever stands in it.
func TestDOC06_SlidesAreNotCutInCode(t *testing.T) {
	code := "```\n" + strings.Repeat("a line of code\n\n", 80) + "```"
	if got := onSlides("Before.\n\n" + code + "\n\nAfter."); len(got) != 2 || strings.Count(got[0], "```") != 2 || got[1] != "After." {
		t.Errorf("%d slides: %q", len(got), got)
	}
}

// A line of code that is wider than a page goes on on the next: nothing of it is lost.
func TestDOC06_LongLinesOfCodeAreNotCutInPDF(t *testing.T) {
	w := &work{}
	f, err := w.flow(&loomv1.DocumentSpec{Version: "0.2", Title: "Code", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "Code", Body: "```\nx\n```"}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.layout(f, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("0123456789", 30)
	parts := l.codeLines(line, 10)
	if len(parts) < 2 || strings.Join(parts, "") != line {
		t.Fatalf("%d parts: %q", len(parts), parts)
	}
	for _, part := range parts {
		if wide := l.GetStringWidth(part); wide > l.width-12 {
			t.Errorf("%q is %v wide, the page has %v", part, wide, l.width-12)
		}
	}
	if got := l.codeLines("short", 10); !slices.Equal(got, []string{"short"}) {
		t.Errorf("a short line becomes %q", got)
	}
}

// A picture of a chart has the colours of its document, and its figures have commas where
// those of a table have them.
func TestDOC06_ChartsLookLikeTheirDocument(t *testing.T) {
	for _, tt := range []struct {
		value float64
		want  string
	}{{9_000, "9000"}, {40_000, "40,000"}, {12_500_000, "12,500,000"}} {
		d := &loomv1.DocumentSpec{
			Version: "0.2", Title: "Costs", Styles: &loomv1.DocumentStyles{PrimaryColor: "#123456", AccentColor: "#abcdef"},
			Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "Costs", Table: &loomv1.SpecTable{Headers: []string{"Year", "Costs"}, Rows: []*structpb.ListValue{
				{Values: []*structpb.Value{structpb.NewStringValue("2026"), structpb.NewNumberValue(tt.value)}},
			}}}},
			Figures: []*loomv1.Figure{{Id: "f", Section: "a", Caption: "Costs", Chart: &loomv1.SpecChart{
				Kind: "pie", Categories: []string{"2026", "2027"}, Series: []*loomv1.ChartSeries{{Name: "Costs", Values: []float64{tt.value, 1}}},
			}}},
		}
		if page := string(render(t, "colours", d, "html").Data); !strings.Contains(page, ">"+tt.want+"<") {
			t.Errorf("the table does not say %q", tt.want)
		}
		p, err := (&work{}).picture(d.Figures[0], (&work{}).styleOf(d.Styles, nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"   " + tt.want + "   ", `fill="#123456"`, `fill="#abcdef"`} {
			if !strings.Contains(string(p.svg), want) {
				t.Errorf("the chart lacks %q:\n%s", want, p.svg)
			}
		}
		if !hasColor(t, p.data, color.RGBA{0x12, 0x34, 0x56, 255}) {
			t.Error("the picture of pdf and docx is not in the colour of its document")
		}
	}
}
