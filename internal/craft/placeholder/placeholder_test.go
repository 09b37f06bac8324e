package placeholder_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/placeholder"
)

func ExampleFill() {
	text, err := placeholder.Fill("Dear {{client.name}},\n{{#each lines}}- {{what}}: {{price}} {{currency}}\n{{/each}}", placeholder.Values{
		"client.name": "Acme & Co.", "currency": "EUR",
		"lines": []placeholder.Values{{"what": "Study", "price": "1200"}, {"what": "{{what}}", "price": "0"}},
	}, false)
	fmt.Print(text, err, "\n")
	// Output:
	// Dear Acme & Co.,
	// - Study: 1200 EUR
	// - {{what}}: 0 EUR
	// <nil>
}

func TestTOOL01_Templates(t *testing.T) {
	lists := placeholder.Values{"tags": []string{"a", "<b>"}, "none": []placeholder.Values{}, "x": "1"}
	for _, tt := range []struct {
		text   string
		values placeholder.Values
		html   bool
		want   string // or the error
	}{
		{"plain", nil, false, "plain"},
		{`\{{x}} {{ x }}`, placeholder.Values{"x": "1"}, false, "{{x}} 1"},
		{"{{#each tags}}[{{item}}]{{/each}}{{#each none}}never{{/each}}{{x}}", lists, true, "[a][&lt;b&gt;]1"},
		{"a\n  {{nmae}}", placeholder.Values{"name": "x"}, false, `2:3: there is no value for this placeholder (got "nmae"); did you mean "name"?`},
		{"none", placeholder.Values{"name": "x"}, false, `the template has no placeholder for this value (got "name")`},
		{"ä {{x", nil, false, `1:3: the braces are not closed on this line; write \{{ for the braces themselves`},
		{"{{x\n}}", nil, false, `1:1: the braces are not closed on this line; write \{{ for the braces themselves`},
		{"{{#if x}}", nil, false, `1:1: it is not a name, #each NAME or /each (got "#if x")`},
		{"{{}}", nil, false, `1:1: it is not a name, #each NAME or /each (got "")`},
		{"\n{{#each tags}}", nil, false, "2:1: {{#each}} is not closed by {{/each}}"},
		{"{{/each}}", nil, false, "1:1: {{/each}} closes nothing"},
		{"{{tags}}", placeholder.Values{"tags": []string{"a"}}, false, `1:1: the value is a list; repeat what shows it with {{#each tags}} (got "tags")`},
		{"{{#each x}}{{/each}}", placeholder.Values{"x": "1"}, false, `1:1: the value is not a list (got "x")`},
		{strings.Repeat("{{#each x}}", 5), nil, false, "1:45: more than 4 levels of {{#each}}"},
	} {
		got, err := placeholder.Fill(tt.text, tt.values, tt.html)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// All that is wrong is said at once.
func TestTOOL01_AllProblemsOfATemplate(t *testing.T) {
	_, err := placeholder.Fill("{{a}} {{b}} {{#each l}}{{c}}{{/each}}", placeholder.Values{"l": []string{"1", "2"}, "d": "x"}, false)
	if e := fault.From(err); e == nil || len(e.More) != 3 {
		t.Errorf("%v with %d more", err, len(e.More))
	}
}

// A bomb of lists in lists is cut.
func TestTOOL01_TemplatesAreBounded(t *testing.T) {
	items := make([]string, 200)
	for i := range items {
		items[i] = strings.Repeat("x", 100)
	}
	open, shut := strings.Repeat("{{#each l}}", 4), strings.Repeat("{{/each}}", 4)
	_, err := placeholder.Fill(open+"{{item}}"+shut, placeholder.Values{"l": items}, false)
	if fault.Code(err) != "template/invalid" {
		t.Errorf("%v", err)
	}
}

// Text without braces comes out as it is, and each value once where it belongs.
func TestTOOL01_ValuesStayText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := strings.ReplaceAll(rapid.String().Draw(t, "before"), "{", "")
		before = strings.TrimRight(before, `\`)
		value := rapid.String().Draw(t, "value")
		got, err := placeholder.Fill(before+"{{v}}", placeholder.Values{"v": value}, false)
		if err != nil || got != before+value {
			t.Fatalf("%q (%v), want %q", got, err, before+value)
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add("{{#each l}}{{item}}{{/each}} \\{{ {{x}}")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := placeholder.Fill(text, placeholder.Values{"x": "1", "l": []string{"a"}}, true)
		if err != nil && !strings.HasPrefix(fault.Code(err), "template/") {
			t.Fatalf("%v", err)
		}
	})
}
