package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// parts is a package of Office Open XML in the making: its files, in the order in
// which they were added.
type parts struct {
	names []string
	data  map[string][]byte
}

func (p *parts) add(name, text string) { p.bytes(name, []byte(text)) }

func (p *parts) bytes(name string, data []byte) {
	if p.data == nil {
		p.data = map[string][]byte{}
	}
	if _, there := p.data[name]; !there {
		p.names = append(p.names, name)
	}
	p.data[name] = data
}

// day is the date of all files in a package: the first that the format can say.
var day = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack writes the package, the same bytes for the same parts.
func (p *parts) pack() ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range p.names {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: day})
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := f.Write(p.data[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return b.Bytes(), nil
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// esc is text as XML has it in elements and attributes.
func esc(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t").Replace(b.String())
}

// relations are the links of one part to others.
type relations struct{ list []string }

const officeRel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

// add links to a part or, outside, to an address; it returns the link's id.
func (r *relations) add(kind, target string, outside bool) string {
	mode := ""
	if outside {
		mode = ` TargetMode="External"`
	}
	if !strings.Contains(kind, "://") {
		kind = officeRel + kind
	}
	id := fmt.Sprintf("rId%d", len(r.list)+1)
	r.list = append(r.list, fmt.Sprintf(`<Relationship Id="%s" Type="%s" Target="%s"%s/>`, id, kind, esc(target), mode))
	return id
}

func (r *relations) xml() string {
	return xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + strings.Join(r.list, "") + `</Relationships>`
}

// contentTypes names what the parts are; the endings xml and rels are known.
func contentTypes(overrides [][2]string) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/><Default Extension="jpeg" ContentType="image/jpeg"/>`)
	for _, o := range overrides {
		fmt.Fprintf(&b, `<Override PartName="%s" ContentType="%s"/>`, o[0], o[1])
	}
	b.WriteString(`</Types>`)
	return b.String()
}

// properties are the parts that say what a document is.
func properties(f *flow) (core, app string) {
	m := f.meta
	stamp := m.GetDate()
	if stamp == "" {
		stamp = day.Format(time.DateOnly)
	}
	core = xmlHead + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
		`<dc:title>` + esc(f.title) + `</dc:title><dc:subject>` + esc(first(m.GetSubject(), f.subtitle)) + `</dc:subject><dc:creator>` + esc(m.GetAuthor()) + `</dc:creator>` +
		`<cp:keywords>` + esc(strings.Join(m.GetKeywords(), ", ")) + `</cp:keywords>` +
		`<dcterms:created xsi:type="dcterms:W3CDTF">` + stamp + `T00:00:00Z</dcterms:created><dcterms:modified xsi:type="dcterms:W3CDTF">` + stamp + `T00:00:00Z</dcterms:modified>` +
		`<dc:language>` + esc(f.style.lang) + `</dc:language></cp:coreProperties>`
	app = xmlHead + `<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Application>Loom</Application></Properties>`
	return core, app
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// specSpace is the namespace of the part that carries a spec.
const specSpace = "https://loom.run/document/spec"

// carry adds the spec to a package, and returns how the main part links to it.
func (w *work) carry(p *parts, main *relations, fromMain string) {
	if w.Carry == nil {
		return
	}
	main.add("customXml", fromMain+"customXml/item1.xml", false)
	p.add("customXml/item1.xml", xmlHead+`<spec xmlns="`+specSpace+`">`+esc(string(w.Carry))+`</spec>`)
	var r relations
	r.add("customXmlProps", "itemProps1.xml", false)
	p.add("customXml/_rels/item1.xml.rels", r.xml())
	p.add("customXml/itemProps1.xml", xmlHead+`<ds:datastoreItem ds:itemID="{6B1D7A4E-52C0-4B7B-9A8F-0C1E5D3A9F10}" xmlns:ds="http://schemas.openxmlformats.org/officeDocument/2006/customXml"><ds:schemaRefs><ds:schemaRef ds:uri="`+specSpace+`"/></ds:schemaRefs></ds:datastoreItem>`)
}

// customType is the content type of the carried spec's properties.
var customType = [2]string{"/customXml/itemProps1.xml", "application/vnd.openxmlformats-officedocument.customXmlProperties+xml"}
