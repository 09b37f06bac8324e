package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/roles"
)

// app is what every verb needs.
type app struct {
	in       io.Reader
	out, err io.Writer
	data     string // the host's data directory
	creds    string // or: a file of credentials
	url      string // and where that host is
	json     bool

	rolesDir   string              // of roles beside the built-in ones
	known      *roles.Set          // with those; nil before they are read
	configFile string              // read in the place of all others, "" for none
	config     *config.Config      // what files and environment say; nil before they are read
	given      map[string][]string // flags of the command line, and their entries
	mistakes   error               // in the configuration, for the command that goes on in spite of them
}

// run carries out one command line.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) fault.Exit {
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return fault.Done
	}
	var quiet exitError
	if errors.As(err, &quiet) {
		return quiet.status
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "interrupted")
		return fault.WorkFailed
	}
	a.json = a.json || slices.Contains(args, "--json") // the flags may not have been read that far
	a.fail(a.whence(err))
	return fault.Status(err)
}

// exitError ends the command with a status and has said why already.
type exitError struct{ status fault.Exit }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

func (a *app) fail(err error) {
	f := fault.From(err)
	if a.json {
		_ = json.NewEncoder(a.err).Encode(map[string]any{"error": jsonOf(f.Proto())})
		return
	}
	fmt.Fprintf(a.err, "loom: %s [%s]\n", printable(f.Error()), f.Code)
	for _, m := range f.More {
		fmt.Fprintf(a.err, "loom: %s [%s]\n", printable(m.Error()), m.Code)
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "loom COMMAND",
		Short:         "A supervised team of agents, working through durable workflows on NATS.",
		Long:          "A supervised team of agents, working through durable workflows on NATS.\n\nNew here? \"loom demo\" runs the main job with nothing installed and no key.",
		Example:       "  loom demo\n  loom up --project shop=/src/shop\n  loom submit --project shop \"The total is wrong for orders of exactly 50.00\"",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyCommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(cmd, a.out) })
	root.SetHelpCommand(a.helper())
	root.SetFlagErrorFunc(badFlag)
	root.PersistentFlags().StringVar(&a.data, "data", "", "`DIR` of the host (default: $LOOM_DATA, "+tilde(host.DefaultData())+")")
	root.PersistentFlags().StringVar(&a.creds, "creds", "", "credentials `FILE`, for a host elsewhere (default: $LOOM_CREDS)")
	root.PersistentFlags().StringVar(&a.url, "nats", "", "`URL` of that host (default: what the credentials say)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON, one value a line")
	root.PersistentFlags().StringVar(&a.rolesDir, "roles", "", "`DIR` of role files, beside and in the place of the built-in ones")
	root.PersistentFlags().StringVar(&a.configFile, "config", "", "configuration `FILE`, read in the place of all others")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) }
	root.AddCommand(a.host(), a.scale(), a.drain())
	root.AddCommand(a.demo(), a.up(), a.run(), a.replay(), a.process(), a.pattern(), a.doc(), a.submit(), a.report(), a.bead(), a.execution(), a.events(), a.inbox(),
		a.approve(), a.reject(), a.override(), a.pause(), a.resume(), a.graph(), a.why(), a.lock(), a.role(), a.workflow(), a.project(), a.auth(), a.stats(), a.status(), a.verify(), a.audit(), a.backup(), a.restore(), a.configuration(), a.doctor(), a.health(), a.cluster(), a.mcp(), a.permission(), a.memory(), a.cost(), a.retention(),
		a.completion(), a.version())
	a.completeAll(root)
	return root
}

func (a *app) defaults() {
	if a.data == "" {
		a.data = os.Getenv("LOOM_DATA")
	}
	if a.data == "" {
		a.data = host.DefaultData()
	}
}

func tilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rest, "..") {
		return filepath.Join("~", rest)
	}
	return path
}

// print writes m as JSON, or what human writes.
func (a *app) print(m proto.Message, human func(w io.Writer)) error {
	if !a.json {
		human(a.out)
		return nil
	}
	return json.NewEncoder(a.out).Encode(jsonOf(m))
}

// jsonOf returns canonical JSON in one spelling, with the fields' own names.
func jsonOf(m proto.Message) json.RawMessage {
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return json.RawMessage(`{"error":"cannot be written as JSON"}`)
	}
	return escaped(data)
}

// escaped returns JSON in which what a terminal would obey is escaped: it can
// only stand in strings.
func escaped(data []byte) json.RawMessage {
	var b []byte
	for _, r := range string(data) {
		if !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b = fmt.Appendf(b, "\\u%04x", unit)
		}
	}
	return b
}

// terminal reports whether f is a person's terminal.
func terminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
