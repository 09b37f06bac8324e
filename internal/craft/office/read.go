package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// The limits of what is read.
const (
	maxFile = 64 << 20
	maxSpec = 16 << 20
)

// Open returns the spec, as JSON, of a docx, xlsx, pptx or html that Render made. It
// returns document/foreign for a file without one, and document/limit for one that is
// too large.
func Open(data []byte) ([]byte, error) {
	if len(data) > maxFile {
		return nil, fault.New("document/limit", "the file has %d bytes; at most %d are read", len(data), maxFile)
	}
	if !bytes.HasPrefix(data, []byte("PK")) {
		return openPage(data)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fault.New("document/foreign", "the file is a damaged package: %s", err)
	}
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "customXml/item") || strings.Contains(f.Name, "Props") || !strings.HasSuffix(f.Name, ".xml") {
			continue
		}
		if f.UncompressedSize64 > 2*maxSpec {
			return nil, fault.New("document/limit", "the spec in the file has more than %d bytes", maxSpec)
		}
		spec, found, err := specIn(f)
		if err != nil {
			return nil, err
		}
		if found {
			return spec, nil
		}
	}
	return nil, fault.New("document/foreign", "the file has no spec in it").Want("only files that Loom made can be opened")
}

func specIn(f *zip.File) (spec []byte, found bool, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, false, fault.New("document/foreign", "%s cannot be unpacked: %s", f.Name, err)
	}
	defer r.Close()
	d := xml.NewDecoder(io.LimitReader(r, 2*maxSpec))
	var x struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
	}
	if err := d.Decode(&x); err != nil || x.XMLName.Space != specSpace || x.XMLName.Local != "spec" {
		return nil, false, nil //nolint:nilerr // somebody else's part
	}
	if len(x.Text) > maxSpec {
		return nil, false, fault.New("document/limit", "the spec in the file has %d bytes; at most %d are read", len(x.Text), maxSpec)
	}
	return []byte(x.Text), true, nil
}

// pageMark begins the element of a page that carries the spec; it is data, and no
// script.
const pageMark = `<script type="application/json" id="loom-spec">`

func openPage(data []byte) ([]byte, error) {
	_, rest, found := bytes.Cut(data, []byte(pageMark))
	spec, _, ended := bytes.Cut(rest, []byte("</script>"))
	if !found || !ended {
		return nil, fault.New("document/foreign", "the file has no spec in it").Want("only files that Loom made can be opened")
	}
	return spec, nil
}
