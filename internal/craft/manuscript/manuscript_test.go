package manuscript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/manuscript"
)

var report = manuscript.Document{
	Title: "Stores & prices", About: "Draft of 21 November 2026", Contents: true,
	Sections: []manuscript.Section{
		{Title: "Summary", Content: "Prices rise [1, 2], see [2](https://x.test) and [1][2].\n"},
		{Title: "Figures", Content: "| a | b |\n| --- | ---: |\n| 1 | 2 |"},
		{Title: "Method", Level: 2, Content: "<script>alert(1)</script> and [a link](javascript:alert)"},
	},
	Sources: []manuscript.Source{
		{Title: "Prices of 2025", URL: "https://example.com/a?b=1&c=2", Accessed: "2026-11-21"}, {Title: "An interview"}, {Title: "Unread"},
	},
}

func ExampleDocument_Markdown() {
	fmt.Print(report.Markdown())
	fmt.Println("not cited:", report.Uncited())
	// Output:
	// # Stores & prices
	//
	// Draft of 21 November 2026
	//
	// - Summary
	// - Figures
	//   - Method
	//
	// ## Summary
	//
	// Prices rise [1, 2], see [2](https://x.test) and [1][2].
	//
	// ## Figures
	//
	// | a | b |
	// | --- | ---: |
	// | 1 | 2 |
	//
	// ### Method
	//
	// <script>alert(1)</script> and [a link](javascript:alert)
	//
	// ## Sources
	//
	// 1. Prices of 2025 <https://example.com/a?b=1&c=2>, accessed 2026-11-21
	// 2. An interview
	// 3. Unread
	// not cited: [3]
}

// A page has what Markdown means, and nothing that runs or loads.
func TestTOOL05_HTML(t *testing.T) {
	if err := report.Check(); err != nil {
		t.Fatal(err)
	}
	page, err := report.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>Stores &amp; prices</title>", "<h1 id=", "<h3 id=\"method\">Method</h3>", "<td style=\"text-align:right\">2</td>", "<ol>\n<li>Prices of 2025 <a href=\"https://example.com/a?b=1&amp;c=2\"", "default-src 'none'"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "javascript:"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestTOOL05_DocumentsThatAreRefused(t *testing.T) {
	one := []manuscript.Section{{Title: "A"}}
	for _, tt := range []struct {
		document manuscript.Document
		want     string
	}{
		{manuscript.Document{Sections: one}, "title: it is not one line of at most 300 bytes"},
		{manuscript.Document{Title: "t"}, "sections: there are 0, not 1 to 200"},
		{manuscript.Document{Title: "t", Sections: []manuscript.Section{{Title: "A"}, {Title: "B", Level: 3}}}, "sections[1].level: level 3 does not come below level 1"},
		{manuscript.Document{Title: "t", Sections: []manuscript.Section{{Title: "A", Content: "as [2] says"}}, Sources: []manuscript.Source{{Title: "x"}}}, "sections[0].content: it cites [2], and there are 1 sources"},
		{manuscript.Document{Title: "t", Sections: one, Sources: []manuscript.Source{{Title: "x", URL: "javascript:alert(1)"}}}, `sources[0].url: it is not a URL of http or https (got "javascript:alert(1)")`},
		{manuscript.Document{Title: "t", Sections: []manuscript.Section{{Title: "A", Content: strings.Repeat("x", 2<<20)}}}, "sections[0]: the document has more than 1048576 bytes"},
	} {
		if err := tt.document.Check(); fault.Code(err) != "tool/arguments" || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
