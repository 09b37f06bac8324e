package office

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A row of sums says what it is, in the document's language, where its first column is
// free; a row of anything else, and one with words of its own, stands as it was written.
func TestDOC06_ARowOfSumsIsNamed(t *testing.T) {
	one, word := structpb.NewNumberValue(1), structpb.NewStringValue("In all")
	for _, tt := range []struct {
		name, lang, want string
		totals           map[string]*structpb.Value
		aggregates       map[string]string
	}{
		{"sums", "en", "Total", map[string]*structpb.Value{"Lines": one}, nil},
		{"sums in German", "de-CH", "Summe", map[string]*structpb.Value{"Lines": one}, nil},
		{"an average", "en", "", map[string]*structpb.Value{"Lines": one}, map[string]string{"Lines": "average"}},
		{"a first column that has one", "en", "", map[string]*structpb.Value{"File": one, "Lines": one}, nil},
		{"words of its own", "en", "", map[string]*structpb.Value{"Kind": word, "Lines": one}, nil},
	} {
		table := &loomv1.SpecTable{Headers: []string{"File", "Kind", "Lines"}, Totals: tt.totals, Aggregates: tt.aggregates, Rows: []*structpb.ListValue{
			{Values: []*structpb.Value{structpb.NewStringValue("a.go"), structpb.NewStringValue("Product"), one}},
		}}
		d := &loomv1.DocumentSpec{
			Version: "0.2", Title: "Size", Metadata: &loomv1.SpecMetadata{Language: tt.lang},
			Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "One", Table: table}},
		}
		md := string(render(t, "sums", d, "md").Data)
		if named := strings.Contains(md, "| **Total** |") || strings.Contains(md, "| **Summe** |"); named != (tt.want != "") || !strings.Contains(md, tt.want) {
			t.Errorf("%s: want %q in\n%s", tt.name, tt.want, md)
		}
		word := parseXML(t, unzip(t, render(t, "sums", d, "docx").Data)["word/document.xml"]).text("t")
		if strings.Contains(word, "Total") != (tt.want == "Total") || !strings.Contains(word, tt.want) {
			t.Errorf("%s: the docx says %q, want %q", tt.name, word, tt.want)
		}
	}
	if g := gridOf(&loomv1.SpecTable{Headers: []string{"a"}}, words["en"]); g.sum != "" {
		t.Errorf("a table without totals has the name %q", g.sum)
	}
}
