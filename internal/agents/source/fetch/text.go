package fetch

import (
	"bytes"
	"io"
	"mime"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/loomrun/loom/internal/base/fault"
)

// Text is what a person would read of the page: HTML as Markdown, without
// scripts, forms and what leads around the site; other text as it is. A page
// that is no text is source/refused.
func (p *Page) Text() (title, text string, err error) {
	kind, _, err := mime.ParseMediaType(p.Type)
	if err != nil {
		kind = "text/plain"
	}
	if !textual(kind) {
		return "", "", fault.New("source/refused", "the page is not text but %.60q, of %d bytes", kind, len(p.Body))
	}
	body := p.decoded(kind)
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return "", "", fault.New("source/refused", "the page says that it is text and is not")
	}
	if !isHTML(kind) {
		return "", string(body), nil
	}
	return p.readable(body)
}

var (
	xmlCharset  = regexp.MustCompile(`^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)
	metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]*charset`)
)

// decoded is the body in UTF-8. Where no header, byte order mark, XML declaration or meta
// element declares its charset, a body that is UTF-8 is taken for that: a guess from its
// beginning would be windows-1252 if that is ASCII.
func (p *Page) decoded(kind string) []byte {
	e, _, certain := charset.DetermineEncoding(p.Body, p.Type)
	if !certain {
		head := p.Body[:min(len(p.Body), 1024)]
		declared := isHTML(kind) && metaCharset.Match(head)
		if m := xmlCharset.FindSubmatch(head); m != nil && !declared {
			if d, name := charset.Lookup(string(m[1])); d != nil {
				e, declared = d, true
				if strings.HasPrefix(name, "utf-16") { // and yet it could be read
					e = encoding.Nop
				}
			}
		}
		if !declared && utf8.Valid(p.Body) {
			return p.Body
		}
	}
	if e == encoding.Nop {
		return p.Body
	}
	r := transform.NewReader(bytes.NewReader(p.Body), e.NewDecoder())
	converted, err := io.ReadAll(io.LimitReader(r, 4*MaxPage))
	if err != nil {
		return p.Body
	}
	return converted
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/x-ndjson", "application/csv", "application/javascript":
		return true
	}
	return false
}

func (p *Page) readable(body []byte) (title, text string, err error) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return "", "", fault.New("source/refused", "the page is not HTML that can be read")
	}
	if n := first(doc, atom.Title); n != nil && n.FirstChild != nil {
		title = strings.Join(strings.Fields(n.FirstChild.Data), " ")
	}
	resolve(doc, p.URL)
	prune(doc)
	part := doc
	for _, a := range []atom.Atom{atom.Main, atom.Article} {
		if n := first(doc, a); n != nil {
			part = n
			break
		}
	}
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	out, err := c.ConvertNode(part)
	if err != nil {
		return "", "", fault.New("source/refused", "the page cannot be read as text: %s", err)
	}
	return title, string(out), nil
}

// resolve makes the links of a page, and the addresses of its pictures, whole: they stand
// against the page's own address, or against that of its base element, as browsers read
// them. What is no address is left.
func resolve(doc *html.Node, at *url.URL) {
	against := at
	if b := first(doc, atom.Base); b != nil {
		for _, a := range b.Attr {
			if u, err := at.Parse(strings.TrimSpace(a.Val)); a.Key == "href" && err == nil && (u.Scheme == "https" || u.Scheme == "http") {
				against = u
			}
		}
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom != atom.A && n.DataAtom != atom.Img {
			continue
		}
		for i, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" {
				continue
			}
			if u, err := against.Parse(strings.TrimSpace(a.Val)); err == nil {
				n.Attr[i].Val = u.String()
			}
		}
	}
}

func first(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			return d
		}
	}
	return nil
}

// prune takes out what is not the text of the page.
func prune(doc *html.Node) {
	var gone []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode && (aside(n.DataAtom) || hidden(n)) {
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

func aside(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Nav, atom.Aside, atom.Footer, atom.Form, atom.Iframe, atom.Svg, atom.Template,
		atom.Button, atom.Object, atom.Embed:
		return true
	}
	return false
}

// hidden reports whether people do not see an element: text that only machines
// read is not what the page says.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" || a.Key == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")) {
			return true
		}
	}
	return false
}
