package project_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/core/project"
)

var update = flag.Bool("update", false, "write docs/reactions.md anew")

// acted counts, over all tests of the package, how often each row of the table acted.
var acted = struct {
	sync.Mutex
	rows  map[string]int
	early []string // rows that did not wait
}{rows: map[string]int{}}

// The whole suite has every row of the table act, and those that wait do wait.
func TestMain(m *testing.M) {
	flag.Parse()
	project.WatchReactions(func(r project.Reaction, facts, waiting int) {
		acted.Lock()
		defer acted.Unlock()
		if facts > 0 || waiting > 0 {
			acted.rows[r.Part+" "+r.Does]++
		}
		if r.After && facts > 0 && !slices.Contains(acted.early, r.Does) {
			acted.early = append(acted.early, r.Does)
		}
	})
	code := m.Run()
	for _, does := range acted.early {
		fmt.Printf("FAIL: the reaction %q is to wait for the core that decides, and led to a fact at once\n", does)
		code = 1
	}
	if code == 0 && !testing.Short() && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.bench").Value.String() == "" {
		for _, r := range project.Reactions() {
			if acted.rows[r.Part+" "+r.Does] == 0 {
				fmt.Printf("FAIL: no test has the reaction %q of %s act\n", r.Does, r.Part)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// docs/reactions.md is the table.
func TestACT05_ReactionsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Who reacts to what\n\n")
	b.WriteString("What a fact of one core leads to in another, in the same command and so in the same batch of the journal: either\n")
	b.WriteString("all of it is durable or nothing. Rows of one fact act in this order. A reaction that waits does so until the core\n")
	b.WriteString("that decides is done with the command, for it leads to another decision of that core.\n\n")
	b.WriteString("The table is `reactions` in `internal/core/project/reactions.go`; this page is made from it by\n")
	b.WriteString("`go test ./internal/core/project -run ReactionsAreDocumented -update`. The suite of that package fails when a row never\n")
	b.WriteString("acts, or does not wait where it should.\n\n")
	b.WriteString("| part | what it does | waits | facts |\n|---|---|---|---|\n")
	for _, r := range project.Reactions() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Part, r.Does, map[bool]string{true: "yes", false: ""}[r.After], strings.Join(r.Facts, ", "))
	}
	const page = "../../../docs/reactions.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != b.String() {
		t.Errorf("docs/reactions.md is not the table (%v); run this test with -update", err)
	}
}
