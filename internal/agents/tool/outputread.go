package tool

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"strings"
)

// OutputRead names the tool that reads results of the turn. Every agent has it
// whose results are kept, without its role naming it.
const OutputRead = "output_read"

// Outputs returns the whole result of a call of the turn at work, by the call's
// id, and tool/not-found where there is none.
type Outputs func(ctx context.Context, call string) (string, error)

var outputRead = &tool{
	Spec: Spec{
		Name:        OutputRead,
		Class:       reads,
		Description: "Read on in the result of an earlier call, or search it.",
		Schema: schema(`"call"`, `
			"call": {"type": "string", "minLength": 1, "maxLength": 200},
			"offset": {"type": "integer", "minimum": 1, "description": "first line"},
			"limit": {"type": "integer", "minimum": 1},
			"pattern": {"type": "string", "minLength": 1, "maxLength": 512, "description": "only lines that match"}`),
	},
	needs: keeping,
	run:   with(readOutput),
}

type outputArguments struct {
	Call    string `json:"call"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
	Pattern string `json:"pattern"`
}

func readOutput(ctx context.Context, j job, a outputArguments) (Result, error) {
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil {
		return Result{}, unfit("/pattern", "it is not a regular expression: %s", err).Got(a.Pattern).
			Want("put a backslash before each of ( ) [ ] { } + * ? . | that is meant as it stands")
	}
	text, err := j.ws.Outputs(ctx, a.Call)
	if err != nil {
		return Result{}, err
	}
	w := newWindow("result", a.Offset, a.Limit, j.room())
	if a.Pattern != "" {
		return w.search(ctx, text, pattern, a.Call)
	}
	if err := w.scan(ctx, bufio.NewReader(strings.NewReader(text))); err != nil {
		return Result{}, err
	}
	return w.result("result of " + a.Call)
}

// search shows the lines from the first on that match, as many as were asked for
// and there is room for.
func (w *window) search(ctx context.Context, text string, pattern *regexp.Regexp, call string) (Result, error) {
	found, lines := 0, 0
	for line := range strings.Lines(text) {
		if lines++; lines%1024 == 0 && ctx.Err() != nil {
			return Result{}, ended(ctx)
		}
		line = strings.TrimSuffix(line, "\n")
		if lines < w.first || !pattern.MatchString(line) {
			continue
		}
		found++
		w.lines = lines
		w.take([]byte(line+"\n"), true)
	}
	if found == 0 {
		return done(fmt.Sprintf("no line of %d matches\n", lines), "result of %s: no line matches", call), nil
	}
	fmt.Fprintf(&w.text, "[%d of %d matching lines, of %d lines]\n", w.kept, found, lines)
	return done(w.text.String(), "result of %s: %d lines match", call, found), nil
}
