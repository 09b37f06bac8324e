package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
)

const maxListing = 128 << 20 // bytes of git's list of files

var shell = &tool{
	Spec: Spec{
		Name:  "shell",
		Class: executes,
		Description: "Run a command line with sh in the workspace. It has no input and an empty home directory, and ends, " +
			"with all that it started, when its time is over. Gives output and exit code.",
		Schema: schema(`"command"`, `
			"command": {"type": "string", "minLength": 1, "maxLength": 32768},
			"timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "to end it earlier"},
			"background": {"type": "boolean", "description": "do not wait; see process"}`),
	},
	needs: sandboxed("commands"),
	run:   with(runShell),
}

type shellArguments struct {
	Command    string `json:"command"`
	Seconds    int    `json:"timeout_seconds"`
	Background bool   `json:"background"`
}

func runShell(ctx context.Context, j job, a shellArguments) (Result, error) {
	if strings.ContainsRune(a.Command, 0) {
		return Result{}, unfit("/command", "it has a NUL character")
	}
	if a.Background {
		return j.start(ctx, a)
	}
	if a.Seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.Seconds)*time.Second)
		defer cancel()
	}
	home, err := j.home("home")
	if err != nil {
		return Result{}, err
	}
	defer discard.All(home)
	before, known := j.stamps(ctx)
	kept := j.kept()
	out, err := kept.run(ctx, command{
		argv: kept.script(a.Command), dir: j.ws.Root, more: []string{home}, env: environment(home, j.ws.Exec.Env), keep: mostWritten,
	})
	if err != nil {
		return Result{}, err
	}
	out.text += j.remarks(out.text)
	r := told(out)
	if out.code == 0 && out.err == nil && hasPipe(a.Command) {
		r.Output += "[a pipe has the exit code of its last command: one before it may have failed]\n"
	}
	r.Ran = j.ws.Exec.Ran
	j.report(ctx, &r, before, known)
	return r, nil
}

// hasPipe reports whether a command line has a pipe, whose exit code hides that of the
// commands before its last. What is quoted is none, nor is "or".
func hasPipe(line string) bool {
	if strings.Contains(line, "pipefail") {
		return false
	}
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|' && strings.HasPrefix(line[i+1:], "|"):
			i++
		case c == '|' && (i == 0 || line[i-1] != '>'):
			return true
		}
	}
	return false
}

// mostWritten is how many bytes are kept of what a command writes.
const mostWritten = MaxOutput - 1<<10

// home makes a private directory for a command.
func (s *Set) home(kind string) (string, error) {
	dir, err := os.MkdirTemp(s.ws.Scratch, "loom-"+kind+"-")
	if err != nil {
		return "", fault.New("tool/failed", "no private directory can be made").Because(err)
	}
	return dir, nil
}

// remarks are the lines that the sandbox adds to what commands wrote.
func (s *Set) remarks(after string) string {
	if s.ws.Exec.Told == nil {
		return ""
	}
	var b strings.Builder
	if after != "" && !strings.HasSuffix(after, "\n") {
		b.WriteByte('\n')
	}
	lines := s.ws.Exec.Told()
	for _, line := range lines {
		b.WriteString("[" + line + "]\n")
	}
	if len(lines) == 0 {
		return ""
	}
	return b.String()
}

// told is what a command's end amounts to: a failing command has run, and is
// no failing call.
func told(out outcome) Result {
	text := plain(out.text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	r := done(text+fmt.Sprintf("[exit code %d]\n", out.code), "exit code %d", out.code)
	r.ExitCode = int32(out.code)
	if out.err != nil {
		r = refused(out.err)
		r.Output, r.ExitCode = text+"["+strings.TrimSpace(r.Output)+"]\n", int32(out.code)
	}
	return r
}

// report adds which files the command changed. After ctx has ended it takes a
// second at most.
func (s *Set) report(ctx context.Context, r *Result, before map[string]stamp, known bool) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	after, ok := s.stamps(ctx)
	if !known || !ok {
		r.Output += "[which files changed is not known: the workspace could not be listed in time; see git_status]\n"
		return
	}
	r.Changed = changes(before, after)
}

// environment is all that a command gets to see: nothing of the host's own but
// where programs are and its language.
func environment(home string, extra []string) []string {
	env := []string{"PATH=" + searchPath(os.Getenv("PATH")), "HOME=" + home, "TMPDIR=" + home, "LANG=" + locale(), "TERM=dumb"}
	for _, e := range extra {
		name, _, ok := strings.Cut(e, "=")
		if ok && name != "" && !secret(name) {
			env = append(env, e)
		}
	}
	return env
}

// searchPath keeps the absolute directories of a PATH.
func searchPath(path string) string {
	var list []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			list = append(list, dir)
		}
	}
	if len(list) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(list, string(os.PathListSeparator))
}

// locale is the language of what commands write.
func locale() string {
	if l := os.Getenv("LANG"); l != "" {
		return l
	}
	return "C.UTF-8"
}

// secret reports whether a variable's name is that of something secret.
func secret(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasPrefix(name, "LOOM_") || strings.HasSuffix(name, "_AUTH") || strings.HasSuffix(name, "_PASS")
}
