package agent

import (
	"fmt"
	"regexp"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reported tells what a report says first, without what it leaves open.
func reported(r *loomv1.ErrorReport) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("service", r.Service)
	if r.Status != 0 {
		line("status", fmt.Sprint(r.Status))
	}
	line("kind", r.Kind)
	line("message", r.Message)
	return b.String()
}

// answer is a line of the memory that keeps what the CEO answered, up to the words.
var answer = regexp.MustCompile(`^m\d+ feedback \(\d+%\): The CEO answered [a-z ]+ to ".*?": `)

// withoutAnswers leaves out of what is remembered the CEO's answers whose words the
// prompt has already: behind what was decided, or as what is asked for.
func withoutAnswers(memory, decided, comment string) string {
	decided, comment = oneLine(decided), oneLine(comment)
	var b strings.Builder
	for line := range strings.Lines(memory) {
		words := oneLine(answer.ReplaceAllString(line, ""))
		if !answer.MatchString(line) || words != comment && !strings.Contains(decided, " - "+words) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
