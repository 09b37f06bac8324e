package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/lsp"
)

// LanguageServer is a program that speaks the Language Server Protocol on its
// standard input and output.
type LanguageServer struct {
	// Extensions are those of the files that it knows, such as ".go".
	Extensions []string
	// Command is the program and its arguments.
	Command []string
	// Install says how one comes by it; empty when nobody knows.
	Install string
}

// LanguageServers are those that are asked where nobody says anything else.
func LanguageServers() []LanguageServer {
	return []LanguageServer{{Extensions: []string{".go"}, Command: []string{"gopls"}, Install: "go install golang.org/x/tools/gopls@latest"}}
}

const maxDiagnosed = 1 << 20 // bytes of a file

var lspDiagnostics = &tool{
	Spec: Spec{
		Name:  "lsp_diagnostics",
		Class: reads,
		Description: "Ask the language server what is wrong with files as they are now: PATH:LINE:COLUMN: SEVERITY: MESSAGE. " +
			"It runs no tests.",
		Schema: schema(`"paths"`, `
			"paths": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string", "minLength": 1}, "description": "files"}`),
	},
	needs: served,
	run:   with(diagnose),
}

type diagnoseArguments struct {
	Paths []string `json:"paths"`
}

func diagnose(ctx context.Context, j job, a diagnoseArguments) (Result, error) {
	byServer := map[int][]lsp.File{}
	for _, p := range a.Paths {
		n, err := j.serverOf(p)
		if err != nil {
			return Result{}, err
		}
		f, err := j.source(p)
		if err != nil {
			return Result{}, err
		}
		if !slices.ContainsFunc(byServer[n], func(o lsp.File) bool { return o.Path == f.Path }) {
			byServer[n] = append(byServer[n], f)
		}
	}
	var out strings.Builder
	problems, silent := 0, 0
	for n, server := range j.servers() {
		if len(byServer[n]) == 0 {
			continue
		}
		answer, err := j.ask(ctx, server, byServer[n])
		if err != nil {
			return Result{}, err
		}
		problems, silent = problems+len(answer.Problems)+answer.More, silent+len(answer.Silent)
		tellProblems(&out, server, answer, len(byServer[n]))
	}
	r := done(out.String(), "%d problems in %d files", problems, len(a.Paths))
	if silent > 0 {
		r.Summary += fmt.Sprintf("; %d not answered", silent)
	}
	r.Ran = j.ws.Exec.Ran
	return r, nil
}

// tellProblems writes what a server has found in so many files.
func tellProblems(out *strings.Builder, s LanguageServer, a lsp.Answer, files int) {
	for _, p := range a.Problems {
		fmt.Fprintf(out, "%s:%d:%d: %s: %s", p.Path, p.Line, p.Column, p.Severity, p.Message)
		if by := strings.TrimSpace(p.Source + " " + p.Code); by != "" {
			fmt.Fprintf(out, " [%s]", by)
		}
		out.WriteByte('\n')
	}
	if a.More > 0 {
		fmt.Fprintf(out, "[%d more problems are not listed]\n", a.More)
	}
	for _, f := range a.Silent {
		fmt.Fprintf(out, "[no answer for %s: %s]\n", f.Path, cmp.Or(f.Why, "not in time; nothing is known of it"))
	}
	name := a.Server
	if name == "" {
		name = path.Base(s.Command[0])
	}
	fmt.Fprintf(out, "[%s: %d problems in %d files]\n", name, len(a.Problems)+a.More, files)
}

// servers are the language servers that there are.
func (s *Set) servers() []LanguageServer {
	if s.ws.Servers == nil {
		return LanguageServers()
	}
	return s.ws.Servers
}

// serverOf returns which server knows a file.
func (s *Set) serverOf(p string) (int, error) {
	var known []string
	for i, server := range s.servers() {
		if slices.Contains(server.Extensions, path.Ext(p)) {
			return i, nil
		}
		known = append(known, server.Extensions...)
	}
	return 0, fault.New("tool/no-server", "there is no language server for such files").At("paths").Got(p).
		Want("there is one for %s; the operator names more with --language-server", strings.Join(known, ", "))
}

// source reads a file that a server is to look at.
func (s *Set) source(p string) (lsp.File, error) {
	at, err := s.locate(p, how{links: true})
	if err != nil {
		return lsp.File{}, err
	}
	defer at.close()
	data, _, err := at.content(maxDiagnosed)
	if err != nil {
		return lsp.File{}, err
	}
	if binary(data) {
		return lsp.File{}, fault.New("tool/failed", "the file is not text").At("paths").Got(p)
	}
	return lsp.File{Path: at.path, Language: languageOf(path.Ext(p)), Text: string(data)}, nil
}

// languages are names that the protocol has for extensions; others are known by
// the extension itself.
var languages = map[string]string{
	".py": "python", ".js": "javascript", ".jsx": "javascriptreact", ".ts": "typescript", ".tsx": "typescriptreact", ".rs": "rust",
	".rb": "ruby", ".ex": "elixir", ".exs": "elixir", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".cs": "csharp", ".kt": "kotlin", ".sh": "shellscript", ".yml": "yaml",
}

func languageOf(ext string) string {
	if l := languages[ext]; l != "" {
		return l
	}
	return strings.TrimPrefix(ext, ".")
}

// ask starts a server, has it look at files, and ends it with all that it started.
func (s *Set) ask(ctx context.Context, server LanguageServer, files []lsp.File) (lsp.Answer, error) {
	program, err := exec.LookPath(server.Command[0])
	if err != nil {
		e := fault.New("tool/no-server", "the language server %s is not installed on this host", server.Command[0]).Want("do without, or have the operator install it")
		if server.Install != "" {
			e = e.Want("do without, or have the operator install it: %s", server.Install)
		}
		return lsp.Answer{}, e
	}
	root, err := filepath.EvalSymlinks(s.ws.Root)
	if err != nil {
		return lsp.Answer{}, fault.New("tool/failed", "the workspace cannot be opened").Because(err)
	}
	home, err := os.MkdirTemp(s.ws.Scratch, "loom-home-")
	if err != nil {
		return lsp.Answer{}, fault.New("tool/failed", "no private directory can be made").Because(err)
	}
	defer discard.All(home)
	c := command{
		argv: append([]string{program}, server.Command[1:]...), dir: s.ws.Root, more: []string{home},
		env: environment(home, s.ws.Exec.Env),
	}
	var answer lsp.Answer
	said, err := s.kept().converse(ctx, c, func(wire *pipes) (err error) {
		answer, err = lsp.Ask(ctx, wire, lsp.Query{Root: root, Files: files})
		return err
	})
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return answer, ended(ctx)
	case err != nil && ctx.Err() != nil:
		return answer, ended(ctx)
	case err != nil && said != "":
		return answer, fault.From(err).Want("it wrote: %s", said)
	}
	return answer, err
}

// kept is how processes of agents are kept together.
func (s *Set) kept() processes {
	if s.ws.Exec.Contain != nil {
		return contained(s.ws.Exec.Contain)
	}
	return s.processes
}

// pipes are a process's input and output.
type pipes struct{ in, out *os.File }

func (p *pipes) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *pipes) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *pipes) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// converse starts a process, talks with it, and ends it, with all that it started,
// when the talk is over. It returns the end of what the process wrote for people.
func (p processes) converse(ctx context.Context, c command, talk func(*pipes) error) (said string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mark := rand.Text()
	c.env = append(c.env, markName+"="+mark)
	cmd, err := p.prepare(ctx, c)
	if err != nil {
		return "", err
	}
	wire, theirs, err := piped()
	if err != nil {
		return "", fault.New("tool/failed", "there are no pipes to the program").Because(err)
	}
	words := newCapture(1<<10, drained, cancel)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirs.out, theirs.in, words, waitDelay
	cmd.Cancel = func() error {
		p.end(cmd, mark)
		return nil
	}
	runtime.LockOSThread() // see run
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = wire.Close()
		return "", fault.New("tool/failed", "the program cannot be started").Because(err)
	}
	err = talk(wire)
	_ = wire.Close()
	cancel()
	_ = cmd.Wait()
	p.sweep(cmd, mark)
	head, tail, _ := words.parts()
	return cutEnd(strings.Join(strings.Fields(plain(string(head)+string(tail))), " "), 300), err
}

// piped returns the two ends of a conversation.
func piped() (ours, theirs *pipes, err error) {
	out, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	from, in, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, out.Close(), to.Close())
	}
	return &pipes{in: to, out: from}, &pipes{in: in, out: out}, nil
}
