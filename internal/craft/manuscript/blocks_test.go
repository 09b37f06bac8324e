package manuscript

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDOC06_BodiesAreReadAsBlocks(t *testing.T) {
	got := Blocks("A **bold** word, *one*\nline, `a*b` and [a link](https://example.com).\n\n- first\n- second\n  1. inner\n\n> said\n\n```\ncode  here\n```\n\n# Head\n\n[bad](javascript:x) <b>html</b> a\\*b")
	want := []Block{
		{Kind: "paragraph", Runs: []Run{{Text: "A "}, {Text: "bold", Bold: true}, {Text: " word, "}, {Text: "one", Italic: true}, {Text: " line, "}, {Text: "a*b", Code: true}, {Text: " and "}, {Text: "a link", Link: "https://example.com"}, {Text: "."}}},
		{Kind: "item", Number: 1, Runs: []Run{{Text: "first"}}},
		{Kind: "item", Number: 2, Runs: []Run{{Text: "second"}}},
		{Kind: "item", Ordered: true, Number: 1, Level: 1, Runs: []Run{{Text: "inner"}}},
		{Kind: "quote", Runs: []Run{{Text: "said"}}},
		{Kind: "code", Runs: []Run{{Text: "code  here", Code: true}}},
		{Kind: "paragraph", Runs: []Run{{Text: "Head", Bold: true}}},
		{Kind: "paragraph", Runs: []Run{{Text: "bad <b>html</b> a*b"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Run{{Text: "a "}, {Text: "b", Bold: true}}, Inline(" a **b** ")); diff != "" {
		t.Errorf("inline (-want +got):\n%s", diff)
	}
}

// What is rewritten are the words that Blocks has as no code and no link, wherever they
// stand; all else stays as it is.
func TestDOC06_WordsAreRewritten(t *testing.T) {
	const body = "    a code\n\nA `a` **a** [a](https://example.com/a) [a](ftp://a) <b a> <https://a.example>\n\n- a\n  1. `a` a\n\n> a\n\n```a\na\n```\n\n# a\n\n<div>\na\n</div>\n"
	const want = "    a code\n\nA `a` **X** [a](https://example.com/a) [X](ftp://a) <b X> <https://a.example>\n\n- X\n  1. `a` X\n\n> X\n\n```a\na\n```\n\n# X\n\n<div>\nX\n</div>\n"
	x := func(words string) string { return regexp.MustCompile(`\ba\b`).ReplaceAllString(words, "X") }
	if got := Rewrite(body, x); got != want {
		t.Errorf("rewritten:\n%s\nwant:\n%s", got, want)
	}
	if got := Rewrite("[a]", func(words string) string { return "<" + words + ">" }); got != "<[a]>" {
		t.Errorf("brackets are given as %s", got)
	}
}
