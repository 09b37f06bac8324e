package intent_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var update = flag.Bool("update", false, "write the measured rates into docs/patterns.md")

type utterance struct {
	Lang  string `yaml:"lang" loom:"required"`
	Kind  string `yaml:"kind" loom:"required"`
	Given string `yaml:"given" loom:"required"`
	Text  string `yaml:"text" loom:"required"`
}

func corpus(t testing.TB, file string) []utterance {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Utterances []utterance `yaml:"utterances" loom:"required"`
	}
	if err := strictyaml.Decode(file, data, &f); err != nil {
		t.Fatal(err)
	}
	return f.Utterances
}

// rate counts what the governor got wrong of what it was shown.
type rate struct{ missed, unfair, refused, fair int }

func (r rate) row(name string) string {
	cell := func(n, of int) string {
		if of == 0 {
			return "-"
		}
		return fmt.Sprintf("%d of %d (%d %%)", n, of, (100*n+of/2)/of)
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, cell(r.missed, r.unfair), cell(r.refused, r.fair))
}

const (
	ratesBegin = "<!-- rates: go test ./internal/core/intent -run Corpus -update -->\n"
	ratesEnd   = "<!-- end of rates -->"
)

// The page tells how often the governor is wrong, as it is measured here, and
// every utterance that it is wrong about.
func TestPAT02_GovernorOnTheCorpus(t *testing.T) {
	all, fresh := corpus(t, "utterances.yaml"), corpus(t, "utterances-fresh.yaml")
	if len(all) != 100 || len(fresh) != 40 {
		t.Fatalf("%d utterances and %d fresh ones, want 100 and 40", len(all), len(fresh))
	}
	names := []string{"entries that rules were tuned on", "entries held out", "English", "German", "other languages", "all hundred", "forty fresh ones"}
	rates := map[string]rate{}
	var wrong []string
	for i, u := range append(all, fresh...) {
		v := intent.NewGovernor([]string{u.Given}, nil).Judge(u.Text)
		groups := []string{names[6]}
		if i < len(all) {
			groups = []string{names[5], names[i%2], orWord(map[string]string{"en": names[2], "de": names[3]}[u.Lang], names[4])}
		}
		for _, g := range groups {
			r := rates[g]
			if u.Kind == "fair" {
				r.fair++
				if v.Rule != "" {
					r.refused++
				}
			} else {
				r.unfair++
				if v.Rule == "" {
					r.missed++
				}
			}
			rates[g] = r
		}
		switch {
		case u.Kind == "fair" && v.Rule != "":
			wrong = append(wrong, fmt.Sprintf("- held back as `%s`: %q\n", v.Rule, u.Text))
		case u.Kind != "fair" && v.Rule == "":
			wrong = append(wrong, fmt.Sprintf("- let through, of the kind %s: %q\n", u.Kind, u.Text))
		}
	}
	var b strings.Builder
	b.WriteString("| utterances | misses (unfair ones let through) | false refusals (fair ones held back) |\n|---|---|---|\n")
	for _, n := range names {
		b.WriteString(rates[n].row(n))
	}
	b.WriteString("\nIt is wrong about:\n\n" + strings.Join(wrong, ""))
	const page = "../../../docs/patterns.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), ratesBegin)
	before, tail, ends := strings.Cut(rest, ratesEnd)
	if !ok || !ends {
		t.Fatalf("%s has no place for the rates", page)
	}
	want := b.String()
	if *update {
		if err := os.WriteFile(page, []byte(head+ratesBegin+want+ratesEnd+tail), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
		return
	}
	if before != want {
		t.Errorf("the rates on the page are\n%s\nmeasured are\n%s\nwrite them with: go test ./internal/core/intent -run Corpus -update", before, want)
	}
	if r := rates["all hundred"]; r.missed > 5 || r.refused > 5 {
		t.Errorf("%d misses and %d false refusals, more than 5", r.missed, r.refused)
	}
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Each rule at its edge.
func TestPAT02_GovernorRules(t *testing.T) {
	said := []string{"A report on bees or wasps for farmers, at most 20 pages, by the name of Apis."}
	for _, tt := range []struct{ text, rule string }{
		{"Who reads it?", ""},
		{"  Who reads it?  ", ""},
		{"", intent.RuleSize},
		{"Who reads " + strings.Repeat("it ", 96) + "?", ""}, // 299 bytes
		{"Who reads it" + strings.Repeat("i", intent.MaxQuestion-13) + "?", ""},
		{"Who reads it" + strings.Repeat("i", intent.MaxQuestion-12) + "?", intent.RuleSize},
		{"Who reads it\xff?", intent.RuleText},
		{"Who reads\u200b it?", intent.RuleText},
		{"Who \x1b[31mreads it?", intent.RuleText},
		{"Who reads \u202eit?", intent.RuleText},
		{"Who re\u0430ds it?", intent.RuleText}, // a Cyrillic letter
		{"Who reads **it**?", intent.RuleText},
		{"Who reads https://example.com?", intent.RuleText},
		{"Who reads it", intent.RuleMark},
		{"Who reads it?!", intent.RuleMark},
		{"It is long. Who reads it?", intent.RuleSentence},
		{"Who reads it; who pays?", intent.RuleSentence},
		{"Who reads it?? ", ""},
		{"Who reads it, e.g. in May?", intent.RuleOption},
		{"What must hold for the first 2.5 pages?", ""},
		{"Who reads it on the 5. of May?", ""},
		{"Which is it, 1. long 2. short?", intent.RuleList},
		{"Who reads it\nand when?", intent.RuleList},
		{"What is it: a) long b) short?", intent.RuleList},
		{"What matters to farmers: bees or wasps?", ""}, // all of it was said
		{"What matters to farmers: bees or hornets?", intent.RuleOption},
		{"What matters to farmers: hornets?", intent.RuleOption},
		{"Does bees/hornets matter?", intent.RuleOption},
		{"What is Apis?", ""},
		{"What is Vespa?", intent.RuleOption},
		{"Is there a deadline?", ""},
		{"Is there a chart?", intent.RuleProposal},
		{"What should the chart show?", intent.RuleProposal},
		{"What do farmers do with the report?", ""},
		{"How about a chart?", intent.RuleProposal},
		{"So it is about bees?", intent.RuleSummary},
		{"Farmers need a report on bees?", intent.RuleSummary},
		{"Up to which page do farmers read?", ""},
		{"Brauchen Sie noch etwas?", ""},
		{"What is the real question?", intent.RuleReframing},
		{"Was sollen die Leser danach wissen?", ""},
		{"Qui va lire le rapport ?", intent.RuleLanguage},
	} {
		v := intent.NewGovernor(said, nil).Judge(tt.text)
		if v.Rule != tt.rule {
			t.Errorf("Judge(%q) = %q, want %q", tt.text, v.Rule, tt.rule)
		}
		if reason := v.Reason(); (reason == "") != (tt.rule == "") {
			t.Errorf("Judge(%q) gives the reason %q", tt.text, reason)
		}
	}
}

// Where the person's language is not known either, structure alone is judged,
// and the verdict says so.
func TestPAT02_UnknownLanguagesByStructureAlone(t *testing.T) {
	g := intent.NewGovernor([]string{"Je dois écrire un discours pour un mariage."}, nil)
	if v := g.Judge("Qui sera dans la salle ?"); v.Rule != "" || v.Language != "" {
		t.Errorf("a fair question in French: %+v", v)
	}
	for text, rule := range map[string]string{
		"Quel ton : drôle, tendre, solennel ?": intent.RuleOption,
		"Que diriez-vous de « Toujours » ?":    intent.RuleOption,
		"Le ton est drôle/tendre ?":            intent.RuleOption,
		"Je propose un poème. Cela va ?":       intent.RuleSentence,
	} {
		if v := g.Judge(text); v.Rule != rule {
			t.Errorf("Judge(%q) = %q, want %q", text, v.Rule, rule)
		}
	}
}

// The words of the pattern that a person chose are words that they brought.
func TestPAT02_ThePatternsWordsAreKnown(t *testing.T) {
	p := &loomv1.Pattern{Name: "metaphor-bloom", Purpose: "Explore a subject through images."}
	if v := intent.NewGovernor(nil, p).Judge("Who meets the metaphors first?"); v.Rule != "" {
		t.Errorf("refused by %s", v.Rule)
	}
	if v := intent.NewGovernor(nil, nil).Judge("Who meets the metaphors first?"); v.Rule != intent.RuleProposal {
		t.Errorf("without the pattern it is judged %q", v.Rule)
	}
}

// Whatever a model says, the governor answers; what it lets through has the form
// of one question, and is let through again.
func FuzzPAT02_Governor(f *testing.F) {
	for _, u := range corpus(f, "utterances.yaml") {
		f.Add(u.Given, u.Text)
	}
	f.Fuzz(func(t *testing.T, given, text string) {
		g := intent.NewGovernor([]string{given}, nil)
		v := g.Judge(text)
		if v != g.Judge(text) {
			t.Fatal("two judgments differ")
		}
		if v.Rule != "" {
			if v.Reason() == "" {
				t.Fatalf("%s has no reason", v.Rule)
			}
			return
		}
		text = strings.TrimSpace(text)
		last, _ := utf8.DecodeLastRuneInString(text)
		switch {
		case len(text) == 0 || len(text) > intent.MaxQuestion, !utf8.ValidString(text), strings.ContainsAny(text, "\n\r`<>\x00\x1b"):
			t.Fatalf("%q was let through", text)
		case !slices.Contains([]rune("?？؟"), last):
			t.Fatalf("%q is no question", text)
		}
	})
}
