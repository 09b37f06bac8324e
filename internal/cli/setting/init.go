package setting

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/setup"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// decided is what "loom init" found in a repository and made of it.
type decided struct {
	Repository string `json:"repository"`
	// File is the configuration; Written says that this call wrote it.
	File    string `json:"file"`
	Written bool   `json:"written"`
	Project string `json:"project"`
	// Branch is where work lands.
	Branch    string                `json:"branch"`
	Languages []setup.Language      `json:"languages"`
	Checks    []string              `json:"checks"`
	Setup     []isolation.SetupStep `json:"setup"`
	// Model is who answers, and ModelFrom what says so; both are empty for none.
	Model     string `json:"model,omitempty"`
	ModelFrom string `json:"model_from,omitempty"`
	// CEOKey is the file of the key that approvals are signed with.
	CEOKey string `json:"ceo_key"`
	// Next are the commands to go on with.
	Next []string `json:"next"`
}

// keyed are the variables with keys of models, and a model for each.
var keyed = [][2]string{
	{"ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5"},
	{"OPENAI_API_KEY", "openai:gpt-5"},
	{"GOOGLE_API_KEY", "google:gemini-2.5-pro"},
}

// Init returns the command of that name; again carries out another command of loom.
func (a *Commands) Init(again func(ctx context.Context, args ...string) fault.Exit) *cobra.Command {
	var name, model string
	var checks []string
	var force, bare bool
	cmd := &cobra.Command{
		Use: "init [flags]", Short: "make a repository ready: write its loom.toml", Args: console.Takes(),
		Long: `Init looks at the git repository that it is started in: its languages, how their
tests are run, what makes a checkout ready, which model's key is set. It writes
loom.toml at the top, says each thing that it decided and how to change it, runs
"loom doctor", and names the commands to go on with. It runs none of the tests,
and commits nothing. Where there is a loom.toml, that one stays (--force writes
it anew). A key of a model is never written: it stays in the environment.`,
		Example: "  loom init\n  loom init --check \"make test\" --model openai:gpt-5",
	}
	f := cmd.Flags()
	f.StringVar(&name, "project", "", "`NAME` of the project (default: made of the directory's)")
	f.StringArrayVar(&checks, "check", nil, "`COMMAND` that work must pass, in the place of what is found")
	f.StringVar(&model, "model", "", "`MODEL` of all roles (default: by the key that is set)")
	f.BoolVar(&force, "force", false, "write loom.toml anew where there is one")
	f.BoolVar(&bare, "no-doctor", false, "do not run \"loom doctor\"")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := a.decide(cmd.Context(), name, model, checks)
		if err != nil {
			return err
		}
		text := d.render()
		if _, err := a.Settings().File(d.File, text, true); err != nil {
			return err
		}
		if d.Written, err = writeNew(d.File, text, force); err != nil {
			return err
		}
		d.next(a.hostRuns())
		if err := a.PrintAny(d, d.print); err != nil || bare {
			return err
		}
		if err := os.Chdir(d.Repository); err != nil { // where its loom.toml counts
			return fault.New("usage/argument", "the repository cannot be entered").Got(d.Repository).Because(err)
		}
		if !a.JSON {
			fmt.Fprintln(a.Out, "\nloom doctor:")
		}
		again(cmd.Context(), a.doctorArgs()...) // what it finds it says itself
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if !a.JSON {
			d.printNext(a.Out)
		}
		return nil
	}
	return cmd
}

func (a *Commands) doctorArgs() []string {
	args := []string{"doctor"}
	if a.Data != "" {
		args = append(args, "--data", absolute(a.Data))
	}
	if a.JSON {
		args = append(args, "--json")
	}
	return args
}

// decide looks at the repository around the working directory.
func (a *Commands) decide(ctx context.Context, name, model string, checks []string) (*decided, error) {
	top, err := repositoryAround(".")
	if err != nil {
		return nil, err
	}
	r, err := git.Open(ctx, top)
	if err != nil {
		return nil, err
	}
	d := &decided{Repository: top, File: filepath.Join(top, config.Name), Project: cmp.Or(name, projectName(filepath.Base(top)))}
	if err := checkProjectName(d.Project); err != nil {
		return nil, err
	}
	if d.Branch, _, err = r.Branch(ctx, ""); err != nil {
		return nil, noBranch(err)
	}
	files := os.DirFS(top)
	d.Languages, d.Checks = append([]setup.Language{}, setup.Languages(files)...), append([]string{}, checks...)
	if len(checks) == 0 {
		for _, l := range d.Languages {
			d.Checks = append(d.Checks, l.Checks...)
		}
	}
	if d.Setup, err = isolation.LookAtSetup(ctx, &loomv1.ProjectConfig{Id: d.Project, Repository: top}); err != nil {
		return nil, err
	}
	if d.CEOKey, err = ceokey.DefaultPath(); err != nil {
		return nil, err
	}
	d.Model, d.ModelFrom = model, "--model"
	if model == "" {
		d.Model, d.ModelFrom = a.modelByKey()
	}
	if model != "" {
		err = a.checkModel(model)
	}
	return d, err
}

// noBranch says what to do where there is no branch that work can land on.
func noBranch(err error) error {
	e := *fault.From(err)
	if strings.HasPrefix(e.Message, "no branch is checked out") {
		return e.Want("HEAD is detached; check a branch out, for example git switch main, then loom init again")
	}
	return e.Want("Loom works from commits: git add -A && git commit, then loom init again")
}

// checkModel refuses a model that there is not, before it stands in a file; whether its key
// is set is for whoever starts a host.
func (a *Commands) checkModel(spec string) error {
	known, err := a.Providers()
	if err != nil {
		return err
	}
	_, err = known.Open(spec)
	for _, e := range fault.All(err) {
		if e.Code == "model/unknown" {
			return e.At("--model")
		}
	}
	return nil
}

// modelByKey returns a model whose key is set, and the variable that it is in.
func (a *Commands) modelByKey() (spec, from string) {
	for _, k := range keyed {
		if a.Env(k[0]) != "" {
			return k[1], k[0]
		}
	}
	return "", ""
}

// repositoryAround returns the top of the repository that dir lies in, with links
// resolved.
func repositoryAround(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New("usage/argument", "there is no working directory").Because(err)
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fault.New("git/not-a-repository", "loom init works in a git repository, and there is none around this directory").Got(start).
				Want("change into one, or make one here: git init && git add -A && git commit")
		}
	}
}

// projectName makes the name of a project of a directory's: small letters, digits and
// lines.
func projectName(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(dir))
	name = strings.Trim(name[:min(len(name), project.MaxID)], "-")
	if name == "" || name == project.System {
		return "project"
	}
	return name
}

func checkProjectName(name string) error {
	if _, err := subject.Parse("project", name); err != nil {
		return fault.From(err).At("--project")
	}
	if len(name) > project.MaxID || name == project.System {
		return fault.New("id/malformed", "no name of a project").At("--project").Got(name).Want("at most %d bytes, and not %q", project.MaxID, project.System)
	}
	return nil
}

// writeNew writes a file that is not there, or any with force, whole or not at all. It
// reports whether it did.
func writeNew(path string, data []byte, force bool) (bool, error) {
	if is, err := os.Stat(path); err == nil && !is.Mode().IsRegular() {
		return false, fault.New("config/file", "it is no file").At(path).Want("take it away, then loom init again")
	}
	if _, err := os.Lstat(path); err == nil && !force {
		if _, err := os.Stat(path); err != nil {
			return false, fault.New("config/file", "it is a link to what is not there").At(path).Want("take it away, or give --force, which puts a file in its place")
		}
		return false, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fault.New("config/file", "it cannot be looked at").At(path).Because(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".loom-*.toml")
	if err != nil {
		return false, fault.New("config/file", "it cannot be written").At(path).Because(err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return false, fault.New("config/file", "it cannot be written").At(path).Because(err)
	}
	return true, nil
}

// render is the loom.toml of what was decided.
func (d *decided) render() []byte {
	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# What Loom works with in this repository, written by \"loom init\". Change what you like;")
	say("# \"loom config show\" says what holds, \"loom config validate loom.toml\" what is wrong.")
	say("")
	say("# Who answers for all roles. Its key stays in the environment, never in a file here.")
	if d.Model != "" {
		say("model = %s", config.Quote(d.Model))
	} else {
		say("# model = %s", config.Quote(keyed[0][1]))
	}
	say("")
	say("[project.%s]", d.Project)
	say("repository = \".\"")
	say("# Where work lands; without this line on the branch that is checked out at the start.")
	say("# branch = %s", config.Quote(d.Branch))
	say("")
	say("# What each change must pass before it lands; what you are asked says which have run.")
	for _, l := range d.Languages {
		say("# %s: by %s", l.Name, console.Line(l.Why, 200)) // a name of a file must not begin a line of its own
	}
	if len(d.Checks) > 0 {
		say("check = %s", list(d.Checks))
	} else {
		say("# Nothing here says how it is tested, so name it: what you would type before a commit.")
		say("# check = [\"make test\"]")
	}
	say("")
	say("# What makes a fresh checkout ready. Without this line the lock files say it.")
	for _, s := range d.Setup {
		say("# by %s: %s", console.Line(s.For, 200), console.Line(s.Command, 300))
	}
	say("# setup = [\"./prepare\"]")
	return b.Bytes()
}

func list(values []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, config.Quote(v))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// print says each thing that was decided, and how to change it.
func (d *decided) print(w io.Writer) {
	w = console.Prose(w, 11)
	say := func(what, is, change string) {
		fmt.Fprintf(w, "%-10s %s\n", what, console.Line(is, 300))
		if change != "" {
			fmt.Fprintf(w, "%-10s   %s\n", "", change)
		}
	}
	say("project", d.Project+", from "+d.Repository, "to change it: the name after \"project.\" in loom.toml")
	say("branch", d.Branch+", which is checked out: work lands there", "to change it: branch = in loom.toml")
	for _, l := range d.Languages {
		say("language", fmt.Sprintf("%s, because of %s", l.Name, l.For), "")
		if len(l.Checks) == 0 {
			say("", "how it is tested is not known: "+l.Why, "")
		}
	}
	if len(d.Languages) == 0 {
		say("language", "none that is known", "")
	}
	for _, c := range d.Checks {
		say("check", c, "")
	}
	if len(d.Checks) == 0 {
		say("check", "none: changes would be verified by what triage names alone", "")
	}
	say("", "each change must pass the checks before it lands", "to change them: check = in loom.toml")
	for _, s := range d.Setup {
		say("setup", fmt.Sprintf("%s (%s)", s.Command, s.For), "")
		for _, l := range s.Lacks {
			say("", l.What, "do this: "+l.Do)
		}
	}
	if len(d.Setup) == 0 {
		say("setup", "none is needed by a lock file", "")
	}
	say("", "what makes a checkout ready", "to change it: setup = in loom.toml")
	if d.Model == "" {
		say("model", "none: no key is set, so work would wait", "to change it: set "+keyed[0][0]+", "+keyed[1][0]+" or "+keyed[2][0]+", and model = in loom.toml")
	} else {
		say("model", d.Model+", because of "+d.ModelFrom, "to change it: model = in loom.toml, or --model of loom up")
	}
	say("your key", d.CEOKey, "approvals are signed with it; \"loom up\" makes it; whoever can read it can approve")
	if d.Written {
		say("wrote", d.File, "")
	} else {
		say("unchanged", d.File+" was there already, and may say otherwise than this", "--force writes it anew")
	}
}

// hostRuns says whether a host runs already, which takes the project beside what it has.
func (a *Commands) hostRuns() bool {
	c, err := client.Open(a.Target())
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// next names the commands to go on with.
func (d *decided) next(running bool) {
	if d.Written {
		d.Next = append(d.Next, "git add loom.toml && git commit -m \"Add loom.toml\"")
	}
	up := "loom up"
	switch {
	case running: // it was started elsewhere
		up = "loom project add " + suggest.Arg(d.Project+"="+d.Repository)
	case d.Model == "":
		up += " --model MODEL"
	}
	d.Next = append(d.Next, up, "loom submit --project "+d.Project+" \"Say in the README how the tests are run\"", "loom inbox")
}

func (d *decided) printNext(w io.Writer) {
	fmt.Fprintln(w, "\nto go on, with a first task:")
	for _, c := range d.Next {
		fmt.Fprintf(w, "  %s\n", c)
	}
}
