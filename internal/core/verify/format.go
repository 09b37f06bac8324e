package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/foreign"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// formatRule is the rule that a file is what its name says, which every phase has.
const formatRule = "format"

// readers read a file of a kind: what it is not, and what rules see of it.
var readers = map[string]func(*content, []byte){
	"docx": office, "xlsx": office, "pptx": office,
	"csv": separated(','), "tsv": separated('\t'),
	"json": jsonFile, "yaml": yamlFile, "html": htmlFile, "md": markdown,
	"pdf": pdf,
	"png": signed("a PNG picture", "\x89PNG\r\n\x1a\n"),
	"jpg": signed("a JPEG picture", "\xff\xd8\xff"),
	"gif": signed("a GIF picture", "GIF87a", "GIF89a"),
	"zip": signed("a ZIP archive", "PK\x03\x04", "PK\x05\x06"),
}

// written takes a text, and says whether it is one.
func (c *content) written(data []byte) bool {
	if !isText(data) {
		c.blind = "it is no text"
		c.not(0, "it is no %s: it is no text in UTF-8", c.kind)
		return false
	}
	c.plain(data)
	return true
}

func jsonFile(c *content, data []byte) {
	if !c.written(data) {
		return
	}
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		c.not(lineAt(data, int(syntax.Offset)), "it is no JSON: %s", syntax)
	} else if err != nil {
		c.not(0, "it is no JSON: %s", err)
	}
}

// lineAt is the line of an offset, from 1.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset-1, 0), len(data))], []byte("\n"))
}

var lineOf = regexp.MustCompile(`:(\d+):\d+$`)

func yamlFile(c *content, data []byte) {
	if !c.written(data) {
		return
	}
	_, err := strictyaml.Parse("f", data)
	if err == nil {
		return
	}
	f := fault.From(err)
	line := 0
	if m := lineOf.FindStringSubmatch(f.Where); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits
	}
	switch f.Code {
	case "yaml/syntax", "yaml/encoding":
		c.not(line, "it is no YAML: %s", f.Message)
	default: // it is too much to look at, or more than one document
		c.doubt(line, "not all of it was looked at: %s", f.Message)
	}
}

// htmlFile wants elements; how they are nested browsers mend by themselves.
func htmlFile(c *content, data []byte) {
	if !c.written(data) {
		return
	}
	z := html.NewTokenizer(bytes.NewReader(data))
	z.SetMaxBuf(MaxFile)
	for {
		switch z.Next() {
		case html.StartTagToken, html.SelfClosingTagToken:
			return
		case html.ErrorToken:
			c.not(0, "it is no HTML: it has no element")
			return
		}
	}
}

var page = regexp.MustCompile(`(?is)^\s*(<!doctype html|<html)\b`)

func markdown(c *content, data []byte) {
	if !c.written(data) {
		return
	}
	if page.MatchString(c.text) {
		c.not(1, "it is no Markdown: it is a page of HTML")
		return
	}
	if line := openFence(c.text); line > 0 && len(c.left) == 0 {
		c.doubt(line, "the block of code that begins here has no end")
	}
}

// openFence is the line on which a block of code begins that does not end, or 0.
func openFence(text string) (open int) {
	var f fences
	n := 0
	for line := range strings.Lines(text) {
		n++
		was := f.mark
		if f.code(line); f.mark == "" {
			open = 0
		} else if was == "" {
			open = n
		}
	}
	return open
}

var crossReference = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF`)

// pdf holds the frame of a PDF against what readers need: its first line, and at its end
// where its table of objects is. What it says is looked into as far as it can be read.
func pdf(c *content, data []byte) {
	if d, err := foreign.Read(data, func() error { return nil }); err != nil {
		c.blind = fault.From(err).Message
	} else {
		c.says(d)
	}
	head, tail := data[:min(len(data), 1024)], data[max(0, len(data)-2048):]
	found := crossReference.FindAllSubmatch(tail, -1)
	switch {
	case !bytes.Contains(head, []byte("%PDF-")):
		c.not(0, "it is no PDF: it does not begin as one")
		return
	case len(found) == 0:
		c.not(0, "it is no whole PDF: its end is missing")
		return
	}
	at, err := strconv.Atoi(string(found[len(found)-1][1]))
	if err != nil || at >= len(data) {
		c.not(0, "it is no whole PDF: its table of objects is not where it says")
		return
	}
	here := bytes.TrimLeft(data[max(at, 0):min(at+64, len(data))], " \t\r\n")
	if !bytes.HasPrefix(here, []byte("xref")) && !objectStart.Match(here) {
		c.not(0, "it is no whole PDF: its table of objects is not where it says")
	}
}

var objectStart = regexp.MustCompile(`^\d+ \d+ obj`)

// signed wants one of the beginnings that files of a kind have.
func signed(what string, beginnings ...string) func(*content, []byte) {
	return func(c *content, data []byte) {
		c.blind = fmt.Sprintf("nothing can be looked for in %s", what)
		for _, b := range beginnings {
			if bytes.HasPrefix(data, []byte(b)) {
				return
			}
		}
		c.not(0, "it is not %s", what)
	}
}
