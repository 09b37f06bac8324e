package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Screen is how wide help may be.
const Screen = 80

// Help writes what a command is for: usage, words, subcommands, flags and an
// example, in that order.
func Help(cmd *cobra.Command, w io.Writer) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n", cmd.UseLine(), strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	subcommands(w, cmd)
	flags(w, cmd.LocalFlags())
	if cmd.HasParent() {
		fmt.Fprintf(w, "\nAlso: --data DIR, --json and --help; see \"loom help\".\n")
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExample:\n\n%s\n", cmd.Example)
	}
}

// first are the commands that the help of loom itself says a word about; of the
// others it tells the names, so that it always fits a screen.
var first = []string{
	"demo", "init", "up", "run", "submit", "bead", "execution", "events", "inbox", "approve", "reject", "graph", "why",
	"process", "status", "doctor",
}

func subcommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	var others []string
	fmt.Fprintln(w)
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if !cmd.HasParent() && !slices.Contains(first, c.Name()) {
			others = append(others, c.Name())
			continue
		}
		fmt.Fprintf(w, "  %-11s %s\n", c.Name(), c.Short)
	}
	if len(others) > 0 {
		text := "And " + strings.Join(others, ", ") + "."
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrap(text, Screen), "\n"))
	}
}

// flags writes one flag a line, wrapped between its column and the screen's
// edge.
func flags(w io.Writer, set *pflag.FlagSet) {
	var heads, texts []string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		_, text := pflag.UnquoteUsage(f)
		heads = append(heads, spelled(f))
		texts = append(texts, text+standard(f))
	})
	if len(heads) == 0 {
		return
	}
	width := len(slices.MaxFunc(heads, func(x, y string) int { return cmp.Compare(len(x), len(y)) }))
	fmt.Fprintln(w)
	for i, h := range heads {
		lines := wrap(texts[i], Screen-width-4)
		fmt.Fprintf(w, "  %-*s  %s\n", width, h, lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintf(w, "  %*s  %s\n", width, "", l)
		}
	}
}

// spelled is a flag as one writes it, with what it takes.
func spelled(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	return strings.TrimRight("--"+f.Name+" "+name, " ")
}

// standard tells a flag's default, unless that is nothing or told already.
func standard(f *pflag.Flag) string {
	if strings.Contains(f.Usage, "(default") || slices.Contains([]string{"", "false", "0", "[]", "0s"}, f.DefValue) {
		return ""
	}
	return " (default: " + f.DefValue + ")"
}

// wrap breaks text between words into lines of at most n bytes.
func wrap(text string, n int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= n:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Helper is the verb "help".
func (a *Console) Helper() *cobra.Command {
	var all bool
	help := &cobra.Command{
		Use: "help [COMMAND...]", Short: "what a command does, and an example of it",
		Example: "  loom help submit\n  loom help bead list\n  loom help --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args)
			switch {
			case len(rest) > 0:
				return unknownCommand(about, rest[0])
			case all:
				return a.verbs(about)
			}
			Help(about, a.Out)
			return nil
		},
	}
	help.Flags().BoolVar(&all, "all", false, "every command below it, with a line about each")
	return help
}

// verbs prints the commands that do something, at or below one, each with a line.
func (a *Console) verbs(about *cobra.Command) error {
	const width = len("workflow validate")
	for _, c := range Verbs(about) {
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		text := strings.Join(wrap(c.Short, Screen-width-2), "\n"+strings.Repeat(" ", width+2))
		if _, err := fmt.Fprintf(a.Out, "%-*s  %s\n", width, name, text); err != nil {
			return err
		}
	}
	return nil
}

// Verbs lists the commands at or below one that do something, and not only hold
// others.
func Verbs(cmd *cobra.Command) (list []*cobra.Command) {
	if cmd.Hidden {
		return nil
	}
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	for _, sub := range cmd.Commands() {
		list = append(list, Verbs(sub)...)
	}
	return list
}

// Completion is the verb that writes a shell's completion script.
func (a *Console) Completion() *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash": func(r *cobra.Command) error { return r.GenBashCompletionV2(a.Out, true) },
		"fish": func(r *cobra.Command) error { return r.GenFishCompletion(a.Out, true) },
		"zsh":  func(r *cobra.Command) error { return r.GenZshCompletion(a.Out) },
	}
	names := []string{"bash", "fish", "zsh"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "completion script for bash, fish or zsh",
		Long:      "Completion prints a script that completes loom's commands and flags; SHELL is\nbash, fish or zsh.",
		Example:   "  source <(loom completion bash)\n  loom completion fish > ~/.config/fish/completions/loom.fish",
		ValidArgs: names, Args: Takes("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return fault.New("usage/argument", "unknown shell").At("SHELL").Got(args[0]).Want("%s", suggest.Among(args[0], names))
			}
			return write(cmd.Root())
		},
	}
}

// Takes returns a check for exactly these arguments; one in brackets, which
// comes last, may be left out.
func Takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return fault.New("usage/argument", "one argument too many").Got(args[len(names)]).Want("%s", SeeHelp(cmd))
		case len(args) < len(names) && !strings.HasPrefix(names[len(args)], "["):
			return fault.New("usage/argument", "%s is missing", names[len(args)]).Want("%s", SeeHelp(cmd))
		}
		return nil
	}
}

// TakesSome returns a check for these arguments, of which the last may be given again.
func TakesSome(names ...string) cobra.PositionalArgs {
	exactly := Takes(names...)
	return func(cmd *cobra.Command, args []string) error {
		return exactly(cmd, args[:min(len(args), len(names))])
	}
}

// SeeHelp names the usage of a command, and where more is said.
func SeeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("usage: %s; see \"%s --help\"", cmd.UseLine(), cmd.CommandPath())
}

// OnlyCommands is the check of a command that only has subcommands.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

func unknownCommand(of *cobra.Command, word string) error {
	var known []string
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	instead := ""
	if !of.HasParent() {
		instead = elsewhere[word]
	}
	return fault.New("usage/argument", "%q has no such command", of.CommandPath()).Got(word).
		Want("%s", cmp.Or(instead, suggest.Among(word, known), fmt.Sprintf("see \"%s --help\"", of.CommandPath())))
}

// elsewhere says how Loom does what other tools have a command of this name for.
var elsewhere = map[string]string{
	"start": startHint, "serve": startHint, "server": startHint, "daemon": startHint,
	"stop": "Ctrl-C, or SIGTERM, stops a host; \"loom pause\" stops the work", "down": "Ctrl-C, or SIGTERM, stops a host; \"loom pause\" stops the work",
	"list": listHint, "ls": listHint, "tasks": listHint, "jobs": listHint, "ps": "\"loom status\" says what runs, \"loom bead list\" what there is to do",
	"logs": logsHint, "log": logsHint, "tail": logsHint, "watch": logsHint,
	"task": "\"loom submit\" files a task, \"loom bead\" shows and changes it", "add": "\"loom submit\" files a task, \"loom project add\" adds a repository", "create": "\"loom submit\" files a task",
	"cancel": "\"loom execution close ID\" ends work", "kill": "\"loom execution close ID\" ends work", "abort": "\"loom execution close ID\" ends work",
	"resume": "\"loom resume\" goes on with what was paused", "diff": "\"loom inbox ID\" shows the diff that waits for you, \"loom execution show ID\" the rest",
	"agents": "\"loom status\" lists roles and agents", "agent": "\"loom status\" lists roles and agents", "chat": "\"loom execution say\" tells an agent something",
}

const (
	startHint = "\"loom up\" runs a host"
	listHint  = "\"loom bead list\" lists tasks and bugs, \"loom execution list\" the work on them"
	logsHint  = "\"loom events --follow\" shows what happens, \"loom execution log ID\" what agents said and ran"
)

// BadFlag says what is wrong with a flag. Where the word before it is no
// command, that is the mistake.
func BadFlag(cmd *cobra.Command, err error) error {
	if word := cmd.Flags().Arg(0); cmd.HasSubCommands() && word != "" {
		return unknownCommand(cmd, word)
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, e)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fault.New("usage/argument", "a value is missing").At("--"+e.GetFlag().Name).Want("%s", spelled(e.GetFlag()))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok && errors.Is(err, errTwice) {
		return fault.New("usage/argument", "it is given twice, and takes one").At("--" + e.GetFlag().Name).Got(e.GetValue()).Want("leave one of them out")
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fault.New("usage/argument", "not a value that it takes").At("--"+e.GetFlag().Name).Got(e.GetValue()).Want("%s", spelled(e.GetFlag()))
	}
	return fault.New("usage/argument", "not a flag").Got(err.Error()).Want("see \"%s --help\"", cmd.CommandPath())
}

// TakesEmpty is an annotation of commands to which an empty value says something.
const TakesEmpty = "loom/takes-empty"

// CheckEmpty refuses flags that are given an empty text: most often that is a variable of
// a script that is not set, and not what stands where the flag is left out.
func CheckEmpty(cmd *cobra.Command) (err error) {
	if cmd.Annotations[TakesEmpty] != "" {
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Changed && f.Value.String() == "" && f.Value.Type() == "string" {
			err = fault.New("usage/argument", "its value is empty").At("--"+f.Name).Want("%s, or leave it out", spelled(f))
		}
	})
	return err
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	if short := e.GetSpecifiedShortnames(); short != "" {
		return fault.New("usage/argument", "unknown flag").Got("-"+short).Want("see \"%s --help\"", cmd.CommandPath())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	word := "--" + e.GetSpecifiedName()
	return fault.New("usage/argument", "unknown flag").Got(word).
		Want("%s", cmp.Or(suggest.Hint(word, known), fmt.Sprintf("see \"%s --help\"", cmd.CommandPath())))
}
