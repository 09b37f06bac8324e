package manuscript

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Block is a piece of Markdown as writers of other formats need it.
type Block struct {
	// Kind is paragraph, item, code or quote.
	Kind string
	// Ordered and Number are those of an item: 1 for the first of a numbered list.
	Ordered bool
	Number  int
	// Level is how deep an item stands, 0 for the outermost.
	Level int
	Runs  []Run
}

// Run is text of one look.
type Run struct {
	Text               string
	Bold, Italic, Code bool
	Link               string // http, https, mailto, or #section
	Break              bool   // a line ends before the text
	// Note is the number of the footnote that is named here, 0 for none; the text is the
	// number. Blocks and Inline find none: they do not know which there are.
	Note int
}

// Blocks reads the Markdown of a body: paragraphs, lists, code and quotes, with
// emphasis, code and links in them. A heading becomes a bold paragraph, a table or
// HTML the text that it is, and links elsewhere than to http, https, mailto and
// sections lose their target.
func Blocks(body string) []Block {
	source := []byte(strings.ReplaceAll(body, "\r\n", "\n"))
	r := &blockReader{source: source}
	r.children(goldmark.DefaultParser().Parse(text.NewReader(source)), Block{Kind: "paragraph"})
	return r.blocks
}

// Inline reads one line of Markdown, such as a list's item.
func Inline(line string) []Run {
	var runs []Run
	for _, b := range Blocks(strings.TrimSpace(line)) {
		if len(runs) > 0 {
			b.Runs = append([]Run{{Text: " "}}, b.Runs...)
		}
		runs = append(runs, b.Runs...)
	}
	return runs
}

// Rewrite returns Markdown with its words replaced by what edit makes of them: of all but
// code and links, which Blocks and Inline tell by their runs.
func Rewrite(body string, edit func(words string) string) string {
	source := []byte(strings.ReplaceAll(body, "\r\n", "\n"))
	var words []text.Segment
	add := func(list ...text.Segment) {
		for _, s := range list {
			if n := len(words); n > 0 && words[n-1].Stop == s.Start {
				words[n-1].Stop = s.Stop
			} else {
				words = append(words, s)
			}
		}
	}
	//nolint:errcheck // none of its steps fails
	ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.AutoLink:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			if target(string(n.Destination)) != "" {
				return ast.WalkSkipChildren, nil
			}
		case *ast.Text:
			if entering {
				add(n.Segment)
			}
		case *ast.RawHTML:
			if entering {
				add(n.Segments.Sliced(0, n.Segments.Len())...)
			}
		case *ast.HTMLBlock:
			if entering {
				add(n.Lines().Sliced(0, n.Lines().Len())...)
			}
		}
		return ast.WalkContinue, nil
	})
	var b strings.Builder
	at := 0
	for _, s := range words {
		b.Write(source[at:s.Start])
		b.WriteString(edit(string(source[s.Start:s.Stop])))
		at = s.Stop
	}
	b.Write(source[at:])
	return b.String()
}

type blockReader struct {
	source []byte
	blocks []Block
}

func (r *blockReader) children(n ast.Node, as Block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.block(c, as)
	}
}

func (r *blockReader) block(n ast.Node, as Block) {
	switch n := n.(type) {
	case *ast.List:
		level := as.Level
		if as.Kind == "item" {
			level++
		}
		number := max(n.Start, 1)
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			r.item(c, Block{Kind: "item", Ordered: n.IsOrdered(), Number: number, Level: level})
			number++
		}
	case *ast.Blockquote:
		r.children(n, Block{Kind: "quote"})
	case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
		lines := n.Lines()
		var b strings.Builder
		for i := range lines.Len() {
			line := lines.At(i)
			b.Write(line.Value(r.source))
		}
		kind := "code"
		if _, html := n.(*ast.HTMLBlock); html {
			kind = as.Kind
		}
		r.blocks = append(r.blocks, Block{Kind: kind, Runs: []Run{{Text: strings.TrimRight(b.String(), "\n"), Code: kind == "code"}}})
	case *ast.ThematicBreak:
	default:
		var runs []Run
		look := Run{}
		if n.Kind() == ast.KindHeading {
			look.Bold = true
		}
		r.inline(n, look, &runs)
		if as.Runs = joined(runs); len(as.Runs) > 0 {
			r.blocks = append(r.blocks, as)
		}
	}
}

// item reads an item: its first text is the item, further ones are paragraphs.
func (r *blockReader) item(n ast.Node, as Block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if _, list := c.(*ast.List); c != n.FirstChild() && !list {
			r.block(c, Block{Kind: "paragraph"})
			continue
		}
		r.block(c, as)
	}
}

func (r *blockReader) inline(n ast.Node, look Run, runs *[]Run) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		is := look
		switch c := c.(type) {
		case *ast.Text:
			is.Text = string(c.Segment.Value(r.source))
			if !is.Code {
				is.Text = unescape(is.Text)
			}
			*runs = append(*runs, is)
			switch {
			case c.HardLineBreak():
				*runs = append(*runs, Run{Break: true})
			case c.SoftLineBreak():
				*runs = append(*runs, Run{Text: " ", Bold: look.Bold, Italic: look.Italic})
			}
		case *ast.String:
			is.Text = string(c.Value)
			*runs = append(*runs, is)
		case *ast.CodeSpan:
			is.Code = true
			r.inline(c, is, runs)
		case *ast.Emphasis:
			is.Bold = is.Bold || c.Level == 2
			is.Italic = is.Italic || c.Level == 1
			r.inline(c, is, runs)
		case *ast.Link:
			is.Link = target(string(c.Destination))
			r.inline(c, is, runs)
		case *ast.AutoLink:
			is.Text, is.Link = string(c.Label(r.source)), target(string(c.URL(r.source)))
			*runs = append(*runs, is)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				s := c.Segments.At(i)
				is.Text = string(s.Value(r.source))
				*runs = append(*runs, is)
			}
		default:
			r.inline(c, is, runs)
		}
	}
}

// unescape takes away the backslashes before punctuation.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func target(url string) string {
	for _, scheme := range []string{"https://", "http://", "mailto:", "#"} {
		if len(url) > len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			return url
		}
	}
	return ""
}

// joined makes one of neighbours that look alike.
func joined(runs []Run) (out []Run) {
	for _, r := range runs {
		if r.Text == "" && !r.Break {
			continue
		}
		if n := len(out); n > 0 {
			last := out[n-1]
			last.Text, last.Break = r.Text, r.Break
			if last == r && !r.Break {
				out[n-1].Text += r.Text
				continue
			}
		}
		out = append(out, r)
	}
	return out
}
