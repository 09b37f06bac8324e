package comparison_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/comparison"
	"github.com/loomrun/loom/internal/craft/sheet"
)

func entries(list ...string) map[string]sheet.Value {
	m := map[string]sheet.Value{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = sheet.Parse(list[i+1])
	}
	return m
}

func matrix(options ...comparison.Option) comparison.Matrix {
	return comparison.Matrix{
		Criteria: []comparison.Criterion{
			{Name: "Quality", Weight: decimal.New(5, -1)},
			{Name: "Price", Weight: decimal.New(3, -1), Lower: true},
			{Name: "Support", Weight: decimal.New(2, -1)},
			{Name: "Licence"},
		},
		Options: options, Least: decimal.NewFromInt(1), Most: decimal.NewFromInt(5),
	}
}

func ExampleMatrix() {
	m := matrix(
		comparison.Option{Name: "Acme", Entries: entries("Quality", "4", "Price", "2", "Support", "3", "Licence", "MIT")},
		comparison.Option{Name: "Bolt", Entries: entries("Quality", "5", "Price", "5", "Support", "4", "Licence", "closed")},
	)
	list, _ := m.Rank()
	for _, r := range list {
		fmt.Println(r.Rank, r.Name, r.Score.Value)
	}
	remarks, _ := m.Remarks(list)
	fmt.Println(strings.Join(remarks, "\n"))
	t, _ := m.Table()
	fmt.Print(t.Markdown())
	// Output:
	// 1 Acme 3.8
	// 2 Bolt 3.6
	// Acme leads Bolt by 0.20
	// without "Price", Bolt would be first
	// | Criterion | Weight | Acme | Bolt |
	// | --- | ---: | --- | --- |
	// | Quality | 0.5 | 4 | 5 |
	// | Price (less is better) | 0.3 | 2 | 5 |
	// | Support | 0.2 | 3 | 4 |
	// | Licence |  | MIT | closed |
	// | Score |  | 3.80 | 3.60 |
	// | Rank |  | 1 | 2 |
}

func TestTOOL01_MatricesThatAreRefused(t *testing.T) {
	sound := comparison.Option{Name: "A", Entries: entries("Quality", "4", "Price", "2", "Support", "3")}
	for _, tt := range []struct {
		second comparison.Option
		want   string
	}{
		{comparison.Option{Name: "A", Entries: sound.Entries}, `options: each needs a name of its own, and there is "A"`},
		{comparison.Option{Name: "B", Entries: entries("Quality", "4", "Price", "2")}, "options/B/Support: the criterion is weighed, so each option needs a score for it"},
		{comparison.Option{Name: "B", Entries: entries("Quality", "4", "Price", "cheap", "Support", "3")}, "options/B/Price: the criterion is weighed, so each option needs a score for it"},
		{comparison.Option{Name: "B", Entries: entries("Quality", "6", "Price", "2", "Support", "3")}, "options/B/Quality: the score 6 is not from 1 to 5"},
		{comparison.Option{Name: "B", Entries: entries("Quality", "4", "Price", "2", "Support", "3", "Speed", "1")}, `options/B: there is no criterion "Speed"`},
	} {
		if err := matrix(sound, tt.second).Check(); fault.Code(err) != "tool/arguments" || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if err := matrix(sound).Check(); err == nil || err.Error() != "options: there are 1, not 2 to 30" {
		t.Errorf("one option: %v", err)
	}
}

func TestTOOL01_EqualOptionsShareARank(t *testing.T) {
	same := entries("Quality", "4", "Price", "2", "Support", "3")
	m := matrix(comparison.Option{Name: "A", Entries: same}, comparison.Option{Name: "B", Entries: same},
		comparison.Option{Name: "C", Entries: entries("Quality", "1", "Price", "5", "Support", "1")})
	list, err := m.Rank()
	if err != nil || fmt.Sprint(list[0].Rank, list[1].Rank, list[2].Rank) != "1 1 3" {
		t.Errorf("%v %v", list, err)
	}
	remarks, err := m.Remarks(list)
	if err != nil || remarks[0] != "A and B have the same score: the matrix does not decide between them" {
		t.Errorf("%q %v", remarks, err)
	}
}

// Scores stay on the scale, and scaling all weights changes nothing.
func TestTOOL01_ScoresStayOnTheScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return fmt.Sprint(rapid.IntRange(1, 5).Draw(t, name)) }
		m := matrix()
		for _, n := range []string{"A", "B", "C"} {
			m.Options = append(m.Options, comparison.Option{Name: n, Entries: entries("Quality", draw("q"), "Price", draw("p"), "Support", draw("s"))})
		}
		list, err := m.Rank()
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Criteria {
			m.Criteria[i].Weight = m.Criteria[i].Weight.Mul(decimal.NewFromInt(7))
		}
		again, _ := m.Rank()
		for i, r := range list {
			if r.Score.Value.Cmp(m.Least) < 0 || r.Score.Value.Cmp(m.Most) > 0 || again[i].Name != r.Name || !again[i].Score.Value.Equal(r.Score.Value) {
				t.Fatalf("%v, then %v", r, again[i])
			}
		}
	})
}
