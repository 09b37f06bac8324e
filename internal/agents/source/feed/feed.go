// Package feed reads feeds of news: RSS 2.0, RSS 1.0 and Atom 1.0.
//
// It promises bounded work for whatever bytes it is given: no document type and so no
// entity of a feed's own, no deep nesting, no more than [MaxEntries] entries, and texts
// on one line each and cut. Markup in titles and summaries is taken out where the format
// says that they have some: in RSS, and in Atom by their type.
package feed

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/loomrun/loom/internal/base/fault"
)

// MaxEntries is how many entries of a feed are read.
const MaxEntries = 500

const (
	maxDepth    = 64
	maxElements = 50_000
	maxTitle    = 300  // characters
	maxSummary  = 2000 // characters
)

// Feed is what a feed says.
type Feed struct {
	Title   string
	Entries []Entry
}

// Entry is one piece of news.
type Entry struct {
	ID, Title, Link, Summary string
	// Authors are their names.
	Authors []string
	// Published is as the feed says it, as YYYY-MM-DDTHH:MM:SSZ where it can be read.
	Published string
}

// Read reads a feed. It returns source/refused for what is none.
func Read(body []byte) (*Feed, error) {
	if err := bounded(body); err != nil {
		return nil, err
	}
	var doc document
	if err := decoder(body).Decode(&doc); err != nil {
		return nil, refused("it is not XML that can be read")
	}
	switch doc.XMLName.Local {
	case "rss", "RDF", "feed":
	default:
		return nil, refused("it is neither RSS nor Atom")
	}
	atom := doc.XMLName.Local == "feed"
	f := &Feed{Title: line(doc.Title.text(atom)+doc.Channel.Title.text(atom), maxTitle)}
	for _, i := range slices.Concat(doc.Entries, doc.Items, doc.Channel.Items) {
		if len(f.Entries) == MaxEntries {
			break
		}
		f.Entries = append(f.Entries, i.entry(atom))
	}
	return f, nil
}

func refused(why string) *fault.Error {
	return fault.New("source/refused", "there is no feed there: %s", why)
}

func decoder(body []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Entity = xml.HTMLEntity // of single characters alone
	d.CharsetReader = charset.NewReaderLabel
	return d
}

// bounded refuses what would be much work to read.
func bounded(body []byte) error {
	d := decoder(body)
	depth, elements := 0, 0
	for {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refused("it is not XML that can be read")
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth, elements = depth+1, elements+1
		case xml.EndElement:
			depth--
		case xml.Directive:
			if bytes.Contains(bytes.ToUpper(t), []byte("ENTITY")) || bytes.ContainsRune(t, '[') {
				return refused("it declares entities of its own")
			}
		}
		if depth > maxDepth || elements > maxElements {
			return refused("it is nested too deep or has too many elements")
		}
	}
}

// document is any of the formats.
type document struct {
	XMLName xml.Name
	Title   words  `xml:"title"` // Atom
	Entries []item `xml:"entry"` // Atom
	Items   []item `xml:"item"`  // RSS 1.0
	Channel struct {
		Title words  `xml:"title"`
		Items []item `xml:"item"` // RSS 2.0
	} `xml:"channel"`
}

// words are text with markup in it or not.
type words struct {
	Text  string `xml:",chardata"`
	Inner string `xml:",innerxml"`
	Type  string `xml:"type,attr"`
}

// text is the words without markup. Those of Atom have some only if their type says so.
func (w words) text(atom bool) string {
	switch {
	case w.Type == "xhtml":
		return unmarked(w.Inner)
	case atom && w.Type != "html" && w.Type != "text/html":
		return w.Text
	}
	return unmarked(w.Text)
}

type item struct {
	ID          string  `xml:"id"`
	GUID        string  `xml:"guid"`
	Title       words   `xml:"title"`
	Summary     words   `xml:"summary"`
	Content     words   `xml:"content"`
	Description words   `xml:"description"`
	Links       []link  `xml:"link"`
	Published   string  `xml:"published"`
	Updated     string  `xml:"updated"`
	PubDate     string  `xml:"pubDate"`
	Date        string  `xml:"date"` // of Dublin Core
	Authors     []human `xml:"author"`
	Creators    []human `xml:"creator"` // of Dublin Core
}

type link struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Text string `xml:",chardata"`
}

type human struct {
	Name string `xml:"name"`
	Text string `xml:",chardata"`
}

func (i *item) entry(atom bool) Entry {
	e := Entry{
		ID: line(first(i.ID, i.GUID), maxTitle), Title: line(i.Title.text(atom), maxTitle),
		Summary:   line(first(i.Summary.text(atom), i.Description.text(atom), i.Content.text(atom)), maxSummary),
		Published: moment(first(i.Published, i.PubDate, i.Date, i.Updated)),
	}
	for _, l := range i.Links {
		if address := strings.TrimSpace(first(l.Href, l.Text)); e.Link == "" || l.Rel == "alternate" {
			e.Link = line(address, 2000)
		}
	}
	for _, h := range slices.Concat(i.Authors, i.Creators) {
		if name := line(first(h.Name, h.Text), maxTitle); name != "" && len(e.Authors) < 20 {
			e.Authors = append(e.Authors, name)
		}
	}
	return e
}

func first(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

var forms = []string{time.RFC3339, "Mon, 2 Jan 2006 15:04:05 -0700", "2006-01-02"}

// zones are those of RFC 822. Of other abbreviations nobody knows which zone they mean, and
// package time would take them for UTC, or for what they are on this machine.
var zones = map[string]string{
	"UT": "+0000", "UTC": "+0000", "GMT": "+0000", "Z": "+0000",
	"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500",
	"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

func moment(text string) string {
	text = strings.TrimSpace(text)
	in := text
	if n := strings.LastIndexByte(text, ' '); n >= 0 && zones[text[n+1:]] != "" {
		in = text[:n+1] + zones[text[n+1:]]
	}
	for _, f := range forms {
		if t, err := time.Parse(f, in); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return line(text, 60)
}

// unmarked is the text of HTML.
func unmarked(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text()) // unescaped
		default:
			b.WriteByte(' ')
		}
	}
}

// line is text on one line and cut.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
