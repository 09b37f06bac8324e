package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/document"
)

// out is where rendered files are kept, to be looked at.
var out = flag.String("out", "", "keep what the tests render in this directory")

func read(t testing.TB, name string) proto.Message {
	t.Helper()
	file := filepath.Join("..", "..", "core", "document", "testdata", name+".json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := document.Read(file, data, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func square(t testing.TB) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for x := range 40 {
		for y := range 30 {
			m.Set(x, y, color.RGBA{30, 77, 141, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// everything is a document that has all that a document can have.
func everything(t testing.TB) *loomv1.DocumentSpec {
	t.Helper()
	d := read(t, "full").(*loomv1.DocumentSpec)
	d.Sections[0].Body += "\n\n- a list in the body\n- with **bold** and `code`\n  - and a level below\n\n1. first\n2. second\n\n> Said by somebody.\n\n```\nfor x in list {\n\tprint(x)\n}\n```\n\nUmlauts äöü, a dash – and \"quotes\" & <angles>."
	d.Sections[0].Callouts = nil
	for _, kind := range []string{"note", "tip", "info", "warning", "risk", "decision"} {
		d.Sections[0].Callouts = append(d.Sections[0].Callouts, &loomv1.Callout{Kind: kind, Text: "What a callout of this kind says, which is long enough to go over more than one line of a page, so that its ground is seen."})
	}
	long := &loomv1.SpecTable{Caption: "Sailings", Headers: []string{"Number", "From", "To", "Passengers", "Fare"}, Formats: map[string]string{"Number": "text", "Fare": "number"}, Totals: map[string]*structpb.Value{}}
	sum := 0.0
	for i := range 70 {
		n := float64(100 + i*7%83)
		sum += n
		long.Rows = append(long.Rows, &structpb.ListValue{Values: []*structpb.Value{
			structpb.NewNumberValue(float64(i + 1)), structpb.NewStringValue("North quay"), structpb.NewStringValue("Harbour island, which has a long name"), structpb.NewNumberValue(n), structpb.NewNumberValue(8.5 + float64(i%3)),
		}})
	}
	long.Totals["Passengers"] = structpb.NewNumberValue(sum)
	long.Totals["From"] = structpb.NewStringValue("All")
	d.Sections = append(d.Sections,
		&loomv1.DocumentSection{Id: "sailings", Heading: "Sailings", Level: 1, Body: "All of them are in Table 3, and the quay is in Figure 2.", Table: long},
		&loomv1.DocumentSection{Id: "quay", Heading: "The quay", Level: 2, Body: "Seen from [the summary](#summary)."},
	)
	d.Figures = append(d.Figures, &loomv1.Figure{Id: "fig-2", Section: "quay", Caption: "The quay", Alt: "A blue field", Image: "quay.png"})
	return d
}

func options(t testing.TB, m proto.Message) Options {
	picture := square(t)
	return Options{Carry: document.JSON(m), Image: func(name string) ([]byte, error) {
		if name != "quay.png" {
			return nil, errors.New("no such picture")
		}
		return picture, nil
	}}
}

func render(t testing.TB, name string, m proto.Message, format string) *Result {
	t.Helper()
	r, err := Render(m, format, options(t, m))
	if err != nil {
		t.Fatalf("%s as %s: %v", name, format, err)
	}
	if *out != "" {
		if err := os.WriteFile(filepath.Join(*out, name+"."+format), r.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

type sample struct {
	name   string
	spec   proto.Message
	format string
}

func samples(t testing.TB) (list []sample) {
	full := everything(t)
	for _, f := range []string{"docx", "pdf", "md", "html", "pptx"} {
		list = append(list, sample{"full", full, f})
	}
	for _, f := range []string{"docx", "pdf", "md", "html"} {
		list = append(list, sample{"document", read(t, "document"), f}, sample{"sheet", read(t, "sheet"), f}, sample{"deck", read(t, "presentation"), f})
	}
	return append(list, sample{"sheet", read(t, "sheet"), "xlsx"}, sample{"deck", read(t, "presentation"), "pptx"})
}

func unzip(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// soundPackage reads a package as its format says: XML everywhere, a type for each
// part, and each link to a part that is there.
func soundPackage(t *testing.T, name string, data []byte) {
	t.Helper()
	files := unzip(t, data)
	types := string(files["[Content_Types].xml"])
	for file, content := range files {
		if strings.HasSuffix(file, ".png") || strings.HasSuffix(file, ".jpeg") {
			continue
		}
		if strings.HasSuffix(file, ".xlsx") {
			soundPackage(t, name+": "+file, content)
			continue
		}
		d := xml.NewDecoder(bytes.NewReader(content))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %s is not well-formed: %v", name, file, err)
				break
			}
		}
		if strings.HasPrefix(file, "word/") || strings.HasPrefix(file, "ppt/") || strings.HasPrefix(file, "xl/") {
			if !strings.HasSuffix(file, ".rels") && !strings.Contains(types, `PartName="/`+file+`"`) && !strings.Contains(types, `Extension="`+strings.TrimPrefix(path.Ext(file), ".")+`"`) {
				t.Errorf("%s: %s has no type", name, file)
			}
		}
	}
	for _, m := range regexp.MustCompile(`PartName="/([^"]+)"`).FindAllStringSubmatch(types, -1) {
		if _, ok := files[m[1]]; !ok {
			t.Errorf("%s: the type of %s is given, which is not there", name, m[1])
		}
	}
	for file, content := range files {
		if !strings.HasSuffix(file, ".rels") {
			continue
		}
		var rels struct {
			Relationship []struct {
				ID         string `xml:"Id,attr"`
				Target     string `xml:"Target,attr"`
				TargetMode string `xml:"TargetMode,attr"`
			}
		}
		if err := xml.Unmarshal(content, &rels); err != nil {
			t.Errorf("%s: %s: %v", name, file, err)
		}
		base := path.Dir(path.Dir(file))
		seen := map[string]bool{}
		for _, r := range rels.Relationship {
			target := path.Join(base, r.Target)
			if strings.HasPrefix(r.Target, "/") {
				target = r.Target[1:]
			}
			if _, ok := files[target]; !ok && r.TargetMode != "External" {
				t.Errorf("%s: %s leads to %s, which is not there", name, file, target)
			}
			if seen[r.ID] {
				t.Errorf("%s: %s has the id %s twice", name, file, r.ID)
			}
			seen[r.ID] = true
		}
		part := path.Join(base, strings.TrimSuffix(path.Base(file), ".rels"))
		for _, m := range regexp.MustCompile(`r:(?:id|embed)="([^"]+)"`).FindAllSubmatch(files[part], -1) {
			if !seen[string(m[1])] {
				t.Errorf("%s: %s names the link %s, which is not there", name, part, m[1])
			}
		}
	}
}

type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []node     `xml:",any"`
}

func (n *node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// all are the elements of a name, in order.
func (n *node) all(name string) (list []*node) {
	for i := range n.Children {
		if n.Children[i].XMLName.Local == name {
			list = append(list, &n.Children[i])
		}
		list = append(list, n.Children[i].all(name)...)
	}
	return list
}

func (n *node) text(name string) string {
	var b strings.Builder
	for _, t := range n.all(name) {
		b.WriteString(t.Text)
	}
	return b.String()
}

func parseXML(t testing.TB, data []byte) *node {
	t.Helper()
	n := &node{}
	if err := xml.Unmarshal(data, n); err != nil {
		t.Fatal(err)
	}
	return n
}

// hasColor says whether a pixel of a picture has a colour.
func hasColor(t *testing.T, data []byte, want color.RGBA) bool {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
		for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
			if color.RGBAModel.Convert(m.At(x, y)) == want {
				return true
			}
		}
	}
	return false
}
