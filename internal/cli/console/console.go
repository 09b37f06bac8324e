// Package console is what all verbs of the command line share: the connection to a
// host, output for people and machines, flags and help, errors and the status to exit
// with, and the configuration that stands behind flags.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/roles"
)

// Console is what every verb needs.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Data     string // the host's data directory
	Creds    string // or: a file of credentials
	URL      string // and where that host is
	JSON     bool
	Colour   string // auto, always or never; empty is auto
	Quiet    bool   // nothing is said beside the answer
	NoPager  bool   // long texts are printed at a terminal, too

	RolesDir   string                // of roles beside the built-in ones
	Known      *roles.Set            // with those; nil before they are read
	ConfigFile string                // read in the place of all others, "" for none
	Config     *config.Config        // what files and environment say; nil before they are read
	Given      map[string][]string   // flags of the command line, and their entries
	Tree       func() *cobra.Command // all commands anew, for what their flags say of settings
	here       string                // project of the configuration that lies in the workspace of this command
	flags      *pflag.FlagSet        // of this command
	atRest     bool                  // it was said that no host runs
	Mistakes   error                 // in the configuration, for the command that goes on in spite of them

	Interrupts *atomic.Pointer[func()] // what begins a new line when the command is interrupted
}

// OnInterrupt has f begin a new line at the terminal when the command is interrupted, for
// what knows where the cursor is.
func (a *Console) OnInterrupt(f func()) {
	if a.Interrupts != nil {
		a.Interrupts.Store(&f)
	}
}

// Interrupted begins a new line at the terminal.
func (a *Console) Interrupted() {
	if a.Interrupts != nil {
		if f := a.Interrupts.Load(); f != nil {
			(*f)()
			return
		}
	}
	fmt.Fprintln(a.Err)
}

// ExitError ends the command with a status and has said why already.
type ExitError struct{ Status fault.Exit }

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// Fail writes an error as people or machines read it.
func (a *Console) Fail(err error) {
	f := fault.From(err)
	if a.JSON {
		_ = json.NewEncoder(a.Err).Encode(map[string]any{"error": JSONOf(f.Proto())})
		return
	}
	w := Prose(a.Err, len("loom: "))
	fmt.Fprintf(w, "loom: %s [%s]\n", Printable(f.Error()), f.Code)
	for _, m := range f.More {
		fmt.Fprintf(w, "loom: %s [%s]\n", Printable(m.Error()), m.Code)
	}
}

// defaults names the data directory where nobody has.
func (a *Console) defaults() (err error) {
	if a.Data == "" {
		a.Data = os.Getenv("LOOM_DATA")
	}
	if a.Data == "" {
		a.Data, err = host.DefaultData()
	}
	return err
}

// Tilde is a path with ~ in the place of the home directory.
func Tilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rest, "..") {
		return filepath.Join("~", rest)
	}
	return path
}

// Print writes m as JSON, or what human writes.
func (a *Console) Print(m proto.Message, human func(w io.Writer)) error {
	if !a.JSON {
		human(Prose(a.Out, 0))
		if reply, ok := m.(interface{ GetQuarantined() []string }); ok {
			a.TellQuarantined(reply.GetQuarantined())
		}
		return nil
	}
	return json.NewEncoder(a.Out).Encode(JSONOf(m))
}

// TellQuarantined names, beside an answer, the projects that are left out of it.
func (a *Console) TellQuarantined(projects []string) {
	if len(projects) > 0 {
		a.Note("left out, since their events cannot be replayed (project/quarantined): %s", strings.Join(projects, ", "))
	}
}

// Note says something beside the answer: a line for people, and with --json an object.
func (a *Console) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.JSON {
		_ = encodeJSON(a.Err, map[string]string{"note": text})
		return
	}
	fmt.Fprintln(a.Err, text)
}

// JSONOf returns canonical JSON in one spelling, with the fields' own names.
func JSONOf(m proto.Message) json.RawMessage {
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return json.RawMessage(`{"error":"cannot be written as JSON"}`)
	}
	return Escaped(data)
}

// Escaped returns JSON in which what a terminal would obey is escaped: it can
// only stand in strings.
func Escaped(data []byte) json.RawMessage {
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

// Terminal reports whether f is a person's terminal.
func Terminal(f any) bool {
	file := fileOf(f)
	return file != nil && term.IsTerminal(int(file.Fd()))
}

// File is the file that is, or is below, what is written to or read; nil for none.
func File(f any) *os.File { return fileOf(f) }

// fileOf is the file that is, or is below, what is written to or read; nil for none.
func fileOf(f any) *os.File {
	switch f := f.(type) {
	case *os.File:
		return f
	case interface{ File() *os.File }:
		return f.File()
	case folder:
		return fileOf(f.w)
	}
	return nil
}

// PrintAny prints a value as JSON, or what human writes.
func (a *Console) PrintAny(v any, human func(w io.Writer)) error {
	if !a.JSON {
		human(Prose(a.Out, 0))
		return nil
	}
	return encodeJSON(a.Out, v)
}

// encodeJSON writes a value as one line of JSON that a terminal obeys nothing
// of.
func encodeJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", Escaped(data))
	return err
}
