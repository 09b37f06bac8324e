package pattern

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// builtinLayer is the name of the layer of patterns that come with Loom.
const builtinLayer = "built in"

func (a *Commands) runPattern() *cobra.Command {
	var project, answers string
	var inputs []string
	var own, alone, stay bool
	var by signer
	cmd := &cobra.Command{
		Use: "run NAME|FILE REQUEST [flags]", Short: "open a session of a pattern, and talk it through", Args: console.Takes("NAME|FILE", "REQUEST"),
		Long: `Run opens a session on the host and asks what it asks, one question at a time,
with what was understood so far. Nothing is proposed, and nothing is done before
you have sealed the envelope that is made of your words, and is shown whole.
Ctrl-C leaves the session as it is; "loom pattern resume SESSION" goes on. At a
terminal, or with --stay, it goes on beside the steps: keys steer and abort.

A model of the host asks, and can do nothing else; without one, with
--own-questions, or where its questions are held back, the pattern asks its own.
A second model judges what the first would ask, and can only hold back.

--intent FILE answers the questions by what they are about: a file with the
fields goal, constraints, audience, scope and success, each a list of texts. It
still asks for the seal, but with --sign, where the envelope has all that the
file says, whole, and nothing else. It exits 10 where the session waits.`,
		Example: "  loom pattern run option-burst \"Names for the app\" --input prompt=p.txt\n  loom pattern run clarity-pass \"Tidy it\" --input original=guide.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			open := &loomv1.OpenPattern{Request: args[1], WithoutModel: own, WithoutJudge: alone}
			if err := a.choosePattern(open, args[0]); err != nil {
				return err
			}
			if err := a.readInputs(open, inputs); err != nil {
				return err
			}
			given, err := a.readIntent(answers)
			if err != nil {
				return err
			}
			if err := by.open(); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				t := a.talk(c, project, given)
				t.by, t.stay = &by, stay
				if err := t.act(cmd.Context(), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Open{Open: open}}); err != nil {
					return err
				}
				fmt.Fprintf(t.w, "session %s of pattern %s; Ctrl-C leaves it, \"loom pattern resume %s\" goes on\n", t.s.Id, t.s.Pattern, t.s.Id)
				return t.goOn(cmd.Context())
			})
		},
	}
	by.add(cmd)
	cmd.Flags().BoolVar(&stay, "stay", false, "stay beside the steps, also without a terminal: a line is a key and its text")
	cmd.Flags().StringVar(&answers, "intent", "", "answer from this `FILE`: lists of texts by field")
	cmd.Flags().BoolVar(&own, "own-questions", false, "have the pattern ask its own questions, and no model")
	cmd.Flags().BoolVar(&alone, "no-judge", false, "have no second model judge the questions of the first")
	cmd.Flags().StringArrayVar(&inputs, "input", nil, "`NAME=FILE` an input of the pattern; may be given again")
	console.ProjectFlag(cmd, &project)
	return cmd
}

// choosePattern names a pattern that comes with the host, or takes the text of another.
func (a *Commands) choosePattern(open *loomv1.OpenPattern, word string) error {
	e, err := a.pickPattern(word)
	if err != nil {
		return err
	}
	if e.Layer == builtinLayer {
		open.Pattern = e.Name
		return nil
	}
	if e.Dir == nil {
		return fault.New("usage/argument", "the pattern is not in a file").At("NAME|FILE")
	}
	f, err := e.Dir.Open(e.Path)
	if err != nil {
		return fault.New("usage/argument", "the file cannot be read").At("NAME|FILE").Got(e.Path)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	open.File = string(data)
	own := processes.PatternTexts([]processes.Layer{processes.BuiltinLayer()})
	for _, used := range e.Used {
		if !slices.ContainsFunc(own, func(t processes.PatternText) bool { return bytes.Equal(t.Data, used.Data) }) {
			open.Used = append(open.Used, string(used.Data))
		}
	}
	return err
}

func (a *Commands) readInputs(open *loomv1.OpenPattern, inputs []string) error {
	for _, in := range inputs {
		name, file, ok := strings.Cut(in, "=")
		if !ok || name == "" || file == "" {
			return fault.New("usage/argument", "not an input").At("--input").Got(in).Want("NAME=FILE")
		}
		data, err := os.ReadFile(file) //nolint:gosec // the user names it
		if err != nil {
			return fault.New("usage/argument", "the file cannot be read").At("--input").Got(file)
		}
		if !utf8.Valid(data) {
			return fault.New("usage/argument", "the file is no text in UTF-8").At("--input").Got(file)
		}
		open.Inputs = append(open.Inputs, &loomv1.SessionInput{Name: name, Text: string(data)})
	}
	return nil
}

// readIntent reads answers by field; none where no file is named.
func (a *Commands) readIntent(file string) (map[loomv1.IntentField][]string, error) {
	if file == "" {
		return nil, nil
	}
	data, err := a.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var f struct {
		Goal        []string `yaml:"goal"`
		Constraints []string `yaml:"constraints"`
		Audience    []string `yaml:"audience"`
		Scope       []string `yaml:"scope"`
		Success     []string `yaml:"success"`
	}
	if err := strictyaml.Decode(file, data, &f); err != nil {
		return nil, a.Problems(err)
	}
	return map[loomv1.IntentField][]string{
		intent.Goal: f.Goal, intent.Constraints: f.Constraints, intent.Audience: f.Audience, intent.Scope: f.Scope, intent.Success: f.Success,
	}, nil
}

func (a *Commands) resumeSession() *cobra.Command {
	var project, answers string
	var rerun, stay bool
	var by signer
	cmd := &cobra.Command{
		Use: "resume SESSION [flags]", Short: "go on with a session that was left, or aborted", Args: console.Takes("SESSION"),
		Long: `Resume goes on where a session stands: with the question that waits, or with the
envelope that is to be sealed. One that was aborted is taken up with its draft
at the step that was cut off, or with --rerun from the first step; then the same
envelope is shown again and needs its seal.`,
		Example: "  loom pattern resume s1\n  loom pattern resume s1 --rerun",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckToken("SESSION", args[0]); err != nil {
				return err
			}
			given, err := a.readIntent(answers)
			if err != nil {
				return err
			}
			if err := by.open(); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				t := a.talk(c, project, given)
				t.by, t.stay = &by, stay
				if err := t.look(cmd.Context(), args[0]); err != nil {
					return err
				}
				if t.s.Aborted != nil || rerun {
					if err := t.act(cmd.Context(), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Resume{Resume: &loomv1.ResumePattern{Rerun: rerun}}}); err != nil {
						return err
					}
				}
				return t.goOn(cmd.Context())
			})
		},
	}
	by.add(cmd)
	cmd.Flags().BoolVar(&stay, "stay", false, "stay beside the steps, also without a terminal: a line is a key and its text")
	cmd.Flags().BoolVar(&rerun, "rerun", false, "begin an aborted session anew, with the same envelope")
	cmd.Flags().StringVar(&answers, "intent", "", "answer from this `FILE`, as \"loom pattern run\" does")
	console.ProjectFlag(cmd, &project)
	return cmd
}
