package fetch

import (
	"bytes"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

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
	body := p.Body
	if r, err := charset.NewReader(bytes.NewReader(body), p.Type); err == nil {
		if converted, err := io.ReadAll(io.LimitReader(r, 4*MaxPage)); err == nil {
			body = converted
		}
	}
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return "", "", fault.New("source/refused", "the page says that it is text and is not")
	}
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return "", string(body), nil
	}
	return p.readable(body)
}

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
	prune(doc)
	part := doc
	for _, a := range []atom.Atom{atom.Main, atom.Article} {
		if n := first(doc, a); n != nil {
			part = n
			break
		}
	}
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := c.ConvertNode(part, converter.WithDomain(p.URL.Scheme+"://"+p.URL.Host))
	if err != nil {
		return "", "", fault.New("source/refused", "the page cannot be read as text: %s", err)
	}
	return title, string(out), nil
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
