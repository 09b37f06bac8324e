package memory

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Memory returns the command of that name.
func (a *Commands) Memory() *cobra.Command {
	return console.Group("memory", "what a project remembers from one piece of work to the next",
		"  loom memory search \"release checklist\"\n  loom memory keep constraint \"totals are rounded half to even\" --tag money",
		a.memoryList(), a.memoryShow(), a.memorySearch(), a.memoryOffered(), a.memoryKeep(), a.memoryEdit(), a.memoryForget(), a.memoryExport())
}

// memoryFilters are the flags that say which entries are meant.
func memoryFilters(cmd *cobra.Command, q *loomv1.Query) {
	f := cmd.Flags()
	f.StringVar(&q.Type, "type", "", "only of this `TYPE`, such as decision, error or constraint")
	f.StringArrayVar(&q.Labels, "tag", nil, "only with this `TAG`; may be given again")
	f.StringVar(&q.Namespace, "namespace", "", "only of `WHERE`: session, project or shared/NAME")
	console.AnyProjectFlag(cmd, &q.Project)
}

// lookMemory asks for a part of the memory and shows it.
func (a *Commands) lookMemory(cmd *cobra.Command, q *loomv1.Query, show func(w io.Writer, v *loomv1.View)) error {
	if err := console.CheckName("--project", q.Project); err != nil {
		return err
	}
	q.Project = cmp.Or(q.Project, project.Of(q.Id))
	return a.Look(cmd, client.Services.Memory, q, show)
}

func (a *Commands) memoryList() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "entries, newest first", Args: console.Takes(),
		Long: `List lists what a project remembers. Entries of a session are seen by one
execution alone, and are gone when it ends unless they are promoted; those of
the web or of files are untrusted until a person vouches for them.`,
		Example: "  loom memory list --type error --tag marketing-strategy",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Id != "" {
				if err := console.CheckToken("--work", q.Id); err != nil {
					return err
				}
			}
			return a.lookMemory(cmd, q, func(w io.Writer, v *loomv1.View) {
				if memoryTable(w, v.Memories); v.Next != "" {
					fmt.Fprintf(w, "there are more: --after %s\n", v.Next)
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Filter, "status", "", "only of this `STATUS`: active (default), expired, dropped, forgotten or all")
	f.StringVar(&q.Id, "work", "", "only of this `BEAD`, execution or attempt")
	f.StringVar(&q.Process, "process", "", "only of work by the process of this `NAME`")
	f.Uint32Var(&q.Limit, "limit", 100, "at most `N`")
	f.StringVar(&q.After, "after", "", "list on after this `ENTRY`")
	memoryFilters(cmd, q)
	return cmd
}

func memoryTable(w io.Writer, list []*loomv1.MemoryEntry) {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing is remembered")
		return
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		rows = append(rows, []string{e.Project, e.Id, e.Type, wordOf(e.Layer, "MEMORY_LAYER_"), wordOf(e.Trust, "MEMORY_TRUST_"), fmt.Sprintf("%d%%", e.Confidence), fmt.Sprint(e.Count), console.Stamp(e.SaidAt), saying(e)})
	}
	heads := []string{"id", "type", "layer", "trust", "sure", "said", "last", "text"}
	if list[0].Project != "" { // also where one alone has some: ids do not name it
		console.Table(w, append([]string{"project"}, heads...), rows)
		return
	}
	console.ProjectTable(w, heads, rows)
}

// saying is what an entry says, in one line; of a tombstone, why it is one.
func saying(e *loomv1.MemoryEntry) string {
	if e.Status == loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE {
		return console.Line(e.Text, 100)
	}
	return console.Line(strings.TrimSuffix(wordOf(e.Status, "MEMORY_STATUS_")+": "+e.Reason, ": "), 100)
}

func wordOf(e interface{ String() string }, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(e.String(), prefix))
}

func (a *Commands) memoryShow() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "show ENTRY [flags]", Short: "one entry, whole", Args: console.Takes("ENTRY"),
		Example: "  loom memory show m12",
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Id = args[0]; !isEntry(q.Id) {
				return notEntry(q.Id)
			}
			return a.lookMemory(cmd, q, func(w io.Writer, v *loomv1.View) {
				for _, e := range v.Memories {
					entryText(w, e, v.Text)
				}
			})
		},
	}
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

func isEntry(id string) bool {
	digits, ok := strings.CutPrefix(id, "m")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func notEntry(id string) error {
	return fault.New("usage/argument", "not the id of an entry").At("ENTRY").Got(id).Want("m1, m2 and so on, as \"loom memory list\" shows them")
}

// entryText tells all of an entry; whole is its text where that is a long one.
func entryText(w io.Writer, e *loomv1.MemoryEntry, whole string) {
	fmt.Fprintf(w, "%s %s, %s, %s, %d%% sure, said %d times\n", e.Id, e.Type, wordOf(e.Status, "MEMORY_STATUS_"), wordOf(e.Layer, "MEMORY_LAYER_"), e.Confidence, e.Count)
	row := func(what, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-12s %s\n", what, console.Printable(value))
		}
	}
	row("trust", wordOf(e.Trust, "MEMORY_TRUST_"))
	row("namespace", e.Namespace)
	row("tags", strings.Join(e.Tags, ", "))
	row("work", strings.Join(strings.Fields(e.Bead+" "+e.Execution+" "+e.Node), " "))
	row("process", e.Process)
	row("by", e.GetAuthor().GetName())
	row("since", console.Stamp(e.Time))
	row("said last", console.Stamp(e.SaidAt))
	if e.Expires != nil {
		row("until", console.Stamp(e.Expires))
	}
	if e.ChangedAt != nil {
		row("changed", console.Stamp(e.ChangedAt)+" by "+e.GetChangedBy().GetName())
	}
	row("why", e.Reason)
	row("contradicts", strings.Join(e.Contradicts, ", "))
	for _, s := range e.Sources {
		row("source", cmp.Or(s.Address, s.File, s.Decision, s.Approval, s.Attempt))
	}
	if e.Offered > 0 {
		row("offered to", console.Count(int(e.Offered), "attempt"))
	}
	if text := cmp.Or(whole, e.Text); text != "" {
		fmt.Fprintf(w, "\n%s\n", console.Printable(text))
	}
}

func (a *Commands) memorySearch() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "search WORDS [flags]", Short: "what is remembered about some words, best first", Args: console.Takes("WORDS"),
		Long: `Search finds entries by their words, as agents are offered them: the rarer the
words that match the better, and new, certain and often said entries first.`,
		Example: "  loom memory search \"deploy on friday\" --type constraint",
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Text = args[0]; strings.TrimSpace(q.Text) == "" {
				return fault.New("usage/argument", "there is nothing to search for").At("WORDS")
			}
			return a.lookMemory(cmd, q, func(w io.Writer, v *loomv1.View) {
				if len(v.Memories) == 0 {
					fmt.Fprintln(w, "nothing is found")
					return
				}
				for _, e := range v.Memories {
					if e.Project != "" {
						fmt.Fprint(w, e.Project, "/")
					}
					fmt.Fprintln(w, console.Printable(memory.Line(e)))
				}
			})
		},
	}
	f := cmd.Flags()
	f.Uint32Var(&q.Limit, "limit", 20, "at most `N`")
	f.Uint32Var(&q.Tokens, "tokens", 0, "at most `N` tokens of text; 0 means 4,096")
	memoryFilters(cmd, q)
	return cmd
}

func (a *Commands) memoryOffered() *cobra.Command {
	q := &loomv1.Query{Filter: project.OfOffers}
	cmd := &cobra.Command{
		Use: "offered [EXECUTION|ATTEMPT] [flags]", Short: "what attempts were offered, newest first", Args: console.Takes("[EXECUTION|ATTEMPT]"),
		Long: `Offered tells which entries agents had before them when they began an attempt.
The newest 4,096 attempts are there; older ones are in "loom events".`,
		Example: "  loom memory offered shop-1-x1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := console.CheckID("EXECUTION|ATTEMPT", args[0]); err != nil {
					return err
				}
				q.Id = args[0]
				if err := a.HasBead(cmd.Context(), q.Id); err != nil {
					return err
				}
			}
			return a.lookMemory(cmd, q, func(w io.Writer, v *loomv1.View) {
				if len(v.Offers) == 0 {
					fmt.Fprintln(w, "nothing was offered")
					return
				}
				rows := make([][]string, 0, len(v.Offers))
				for _, o := range v.Offers {
					rows = append(rows, []string{o.Attempt, console.Dash(o.Node), console.Stamp(o.Time), fmt.Sprint(o.Tokens), fmt.Sprint(o.LeftOut), strings.Join(o.Entries, " ")})
				}
				console.Table(w, []string{"attempt", "node", "when", "tokens", "left out", "entries"}, rows)
				if v.Next != "" {
					fmt.Fprintf(w, "there are more: --after %s\n", v.Next)
				}
			})
		},
	}
	cmd.Flags().Uint32Var(&q.Limit, "limit", 100, "at most `N`")
	cmd.Flags().StringVar(&q.After, "after", "", "list on after this `ATTEMPT`")
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

// remember sends a change of the memory and shows the entry that came of it.
func (a *Commands) remember(cmd *cobra.Command, r *loomv1.MemoryRequest, show func(w io.Writer, e *loomv1.MemoryEntry)) error {
	if err := console.CheckName("--project", r.Project); err != nil {
		return err
	}
	return a.With(cmd.Context(), func(c *client.Client) error {
		answer, err := c.Remember(cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.Print(answer, func(w io.Writer) { show(w, answer.GetMemory()) })
	})
}

func (a *Commands) memoryKeep() *cobra.Command {
	e := &loomv1.MemoryEntry{}
	r := &loomv1.MemoryRequest{}
	var sources []string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "keep TYPE TEXT [flags]", Short: "remember something", Args: console.Takes("TYPE", "TEXT"),
		Long: `Keep remembers something for good, in your name. TEXT of "-" is read from
standard input. What is remembered already, in the same words, is counted; what
says the opposite of another entry, or the same with other numbers, is linked
to it. Types: artifact, assumption, constraint, context, decision, dependency,
discovery, error, feedback, metric, model_failure, pattern, preference, risk,
task_template and tool_result; a process may have its own.`,
		Example: "  loom memory keep constraint \"releases are cut from main\" --tag release",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			e.Type = args[0]
			if e.Text, err = textOrInput(cmd, args[1]); err != nil {
				return err
			}
			if e.Sources, err = parseSources(sources); err != nil {
				return err
			}
			if lasts < 0 {
				return fault.New("usage/argument", "an entry lasts longer than no time").At("--for").Got(lasts.String())
			}
			if lasts > 0 {
				e.Expires = timestamppb.New(time.Now().Add(lasts))
			}
			r.Project = cmp.Or(r.Project, project.Of(e.Bead))
			r.Verb = &loomv1.MemoryRequest_Keep{Keep: &loomv1.KeepMemory{Request: rand.Text(), Entry: e}}
			return a.remember(cmd, r, func(w io.Writer, e *loomv1.MemoryEntry) {
				fmt.Fprint(w, e.Id)
				if e.Count > 1 {
					fmt.Fprintf(w, " was said %d times", e.Count)
				}
				if len(e.Contradicts) > 0 {
					fmt.Fprintf(w, " contradicts %s", strings.Join(e.Contradicts, ", "))
				}
				fmt.Fprintln(w)
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&e.Tags, "tag", nil, "`TAG` to find it by; may be given again")
	f.Uint32Var(&e.Confidence, "confidence", 100, "how `SURE` one is, 1 to 100")
	f.StringArrayVar(&sources, "source", nil, "`KIND=WHERE` it is from: file, address, decision or approval; may be given again")
	f.StringVar(&e.Namespace, "namespace", "", "`NAMESPACE` shared/NAME to share it with other projects")
	f.StringVar(&e.Bead, "bead", "", "about this `BEAD`")
	f.StringArrayVar(&e.Contradicts, "contradicts", nil, "`ENTRY` that says otherwise; may be given again")
	f.DurationVar(&lasts, "for", 0, "forget it after this `TIME`, such as 72h")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

// textOrInput returns an argument, or standard input for "-".
func textOrInput(cmd *cobra.Command, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	const most = 256 << 10
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), most+1))
	if err != nil {
		return "", fault.New("usage/argument", "standard input cannot be read").Because(err)
	}
	if len(data) > most {
		return "", fault.New("memory/invalid", "the text has more than %d bytes", most).At("TEXT")
	}
	return string(data), nil
}

func parseSources(list []string) (sources []*loomv1.MemorySource, err error) {
	for _, s := range list {
		kind, where, ok := strings.Cut(s, "=")
		source := &loomv1.MemorySource{}
		switch {
		case !ok || where == "":
			return nil, fault.New("usage/argument", "not KIND=WHERE").At("--source").Got(s).Want("for example address=https://example.com")
		case kind == "file":
			source.File = where
		case kind == "address":
			source.Address = where
		case kind == "decision":
			source.Decision = where
		case kind == "approval":
			source.Approval = where
		default:
			return nil, fault.New("usage/argument", "no such kind of source").At("--source").Got(kind).Want("file, address, decision or approval")
		}
		sources = append(sources, source)
	}
	return sources, nil
}

func (a *Commands) memoryEdit() *cobra.Command {
	c := &loomv1.ChangeMemory{}
	r := &loomv1.MemoryRequest{Verb: &loomv1.MemoryRequest_Change{Change: c}}
	var text, kind string
	var confidence uint32
	cmd := &cobra.Command{
		Use: "edit ENTRY [flags]", Short: "change an entry, vouch for it or promote it", Args: console.Takes("ENTRY"),
		Long: `Edit changes an entry. --trust vouches for one that comes from the web or from
files; --promote moves one of a session to those that last. A text of "-" is
read from standard input.`,
		Example: "  loom memory edit m4 --trust --promote --reason \"I read the page\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Id = args[0]; !isEntry(c.Id) {
				return notEntry(c.Id)
			}
			f := cmd.Flags()
			if f.Changed("text") {
				given, err := textOrInput(cmd, text)
				if err != nil {
					return err
				}
				c.Text = &given
			}
			if f.Changed("type") {
				c.Type = &kind
			}
			if f.Changed("confidence") {
				c.Confidence = &confidence
			}
			c.SetTags = f.Changed("tag")
			if c.Text == nil && c.Type == nil && c.Confidence == nil && !c.SetTags && !c.Trust && !c.Promote {
				return fault.New("usage/argument", "nothing is to be changed").At("ENTRY").Want("--text, --type, --confidence, --tag, --trust or --promote")
			}
			return a.remember(cmd, r, func(w io.Writer, e *loomv1.MemoryEntry) { fmt.Fprintln(w, console.Printable(memory.Line(e))) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&text, "text", "", "`TEXT` in the place of what it says; it is your word from then on")
	f.StringVar(&kind, "type", "", "`TYPE` in the place of the one that it has")
	f.Uint32Var(&confidence, "confidence", 0, "how `SURE` one is, 0 to 100")
	f.StringArrayVar(&c.Tags, "tag", nil, "`TAG` in the place of those that it has; may be given again")
	f.BoolVar(&c.Trust, "trust", false, "vouch for it")
	f.BoolVar(&c.Promote, "promote", false, "keep it when its session ends")
	f.StringVar(&c.Reason, "reason", "", "`TEXT` that says why")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) memoryForget() *cobra.Command {
	c := &loomv1.ForgetMemory{}
	r := &loomv1.MemoryRequest{Verb: &loomv1.MemoryRequest_Forget{Forget: c}}
	cmd := &cobra.Command{
		Use: "forget ENTRY [flags]", Short: "forget an entry", Args: console.Takes("ENTRY"),
		Long: `Forget takes what an entry says out of the memory: it is found, offered and
shown no more, and the next snapshot is without it. Its id stays, with your
reason. What the journal, kept prompts and backups have of it stays there until
the journal is cut and they are deleted: see docs/memory.md.`,
		Example: "  loom memory forget m4 --reason \"it was wrong\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Id = args[0]; !isEntry(c.Id) {
				return notEntry(c.Id)
			}
			return a.remember(cmd, r, func(w io.Writer, e *loomv1.MemoryEntry) { fmt.Fprintf(w, "%s is forgotten\n", e.Id) })
		},
	}
	cmd.Flags().StringVar(&c.Reason, "reason", "", "`TEXT` that says why")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) memoryExport() *cobra.Command {
	q := &loomv1.Query{Limit: project.MaxListed}
	var to string
	cmd := &cobra.Command{
		Use: "export [flags]", Short: "write entries as lines of JSON", Args: console.Takes(),
		Long: `Export writes every entry as one line of JSON, the newest first: those that
count, or of every status with --status all.`,
		Example: "  loom memory export --type constraint -o constraints.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.CheckName("--project", q.Project); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				var text strings.Builder
				for page := proto.CloneOf(q); ; {
					v, err := c.Memory(cmd.Context(), page)
					if err != nil {
						return err
					}
					for _, e := range v.Memories {
						text.Write(console.JSONOf(e))
						text.WriteByte('\n')
					}
					if page.After = v.Next; page.After == "" {
						return a.WriteTo(to, text.String())
					}
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Filter, "status", "", "only of this `STATUS`: active (default), expired, dropped, forgotten or all")
	f.StringVarP(&to, "output", "o", "", "`FILE` to write to (default: standard output)")
	memoryFilters(cmd, q)
	return cmd
}
