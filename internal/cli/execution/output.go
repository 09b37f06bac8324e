package execution

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
)

// Output returns the command of that name.
func (a *Commands) Output() *cobra.Command {
	var owner, lines, pattern string
	cmd := &cobra.Command{
		Use: "output SHA [flags]", Short: "print what a tool printed, a prompt or a diff, by its SHA-256", Args: console.Takes("SHA"),
		Long: `Output prints a text that is kept beside the journal, whole: what a tool or a
check printed, what a model was told, a diff. SHA is what events --output and
execution log name it by, or at least 8 digits of its beginning. The values of
secrets that the host knows are taken out. To a terminal it writes nothing that
steers one; else the bytes as they are.`,
		Example: "  loom output 3b4c9d01ab\n  loom output 3b4c9d01ab --lines 40:80\n  loom output 3b4c9d01ab --grep 'FAIL|panic'",
		RunE: func(cmd *cobra.Command, args []string) error {
			cut, err := linesOf(lines, pattern)
			if err == nil {
				err = cmp.Or(console.CheckName("--project", owner), noSHA(args[0]))
			}
			if err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				data, reply, err := c.ReadBlob(cmd.Context(), owner, strings.ToLower(args[0]))
				if err != nil {
					return err
				}
				text := cut(data)
				return a.PrintAny(map[string]any{
					"sha256": reply.Blob.GetSha256(), "size": reply.Size, "media_type": reply.Blob.GetMediaType(), "redacted": reply.Redacted, "text": strings.ToValidUTF8(string(text), "\uFFFD"),
				}, func(w io.Writer) {
					if reply.Redacted {
						fmt.Fprintln(a.Err, "note: values of secrets were taken out")
					}
					a.printOutput(w, text)
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&owner, "project", "", "only what events of the project of this `NAME` name")
	f.StringVar(&lines, "lines", "", "only these lines, `A:B` from 1, both included; either may be left out")
	f.StringVar(&pattern, "grep", "", "only lines that match this regular `EXPRESSION`, with their numbers")
	return cmd
}

// noSHA refuses the id of work where a SHA is wanted.
func noSHA(arg string) error {
	if project.Of(arg) == "" {
		return nil
	}
	return fault.New("usage/argument", "not the SHA of a text, but the id of work").At("SHA").Got(arg).
		Want("loom execution log %s, which names the SHA of each output", arg)
}

// printOutput writes bytes as they are, but to a terminal as what steers none.
func (a *Commands) printOutput(w io.Writer, text []byte) {
	if !console.Terminal(w) {
		_, _ = w.Write(text)
		return
	}
	s := console.Printable(strings.ToValidUTF8(string(text), "\uFFFD"))
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, _ = io.WriteString(w, s)
}

// linesOf returns what takes the lines out of a text that are asked for.
func linesOf(lines, pattern string) (func([]byte) []byte, error) {
	from, to, err := lineRange(lines)
	if err != nil {
		return nil, err
	}
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fault.New("usage/argument", "not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")).At("--grep").Got(pattern)
	}
	if lines == "" && pattern == "" {
		return func(data []byte) []byte { return data }, nil
	}
	return func(data []byte) []byte {
		var out []byte
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			if n < from || n > to || !match.MatchString(strings.TrimRight(line, "\r\n")) {
				continue
			}
			if pattern != "" {
				out = append(out, strconv.Itoa(n)+":"...)
			}
			out = append(out, line...)
		}
		return out
	}, nil
}

// endless is behind every line.
const endless = 1 << 31

func lineRange(text string) (from, to int, err error) {
	from, to = 1, endless
	if text == "" {
		return from, to, nil
	}
	first, last, ok := strings.Cut(text, ":")
	if !ok {
		last = first
	}
	for _, part := range []struct {
		text string
		to   *int
	}{{first, &from}, {last, &to}} {
		if part.text == "" {
			continue
		}
		if *part.to, err = strconv.Atoi(part.text); err != nil || *part.to < 1 {
			return 0, 0, badLines(text)
		}
	}
	if from > to {
		return 0, 0, badLines(text)
	}
	return from, to, nil
}

func badLines(text string) error {
	return fault.New("usage/argument", "not a range of lines").At("--lines").Got(text).Want("A:B with A not behind B, for example 10:40, 10: or :40")
}
