package why

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/sourcelist"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// claim tells of words in delivered files who made them, and what they may rest on.
func (a *Commands) claim(ctx context.Context, words, execution string, files []string) error {
	if strings.TrimSpace(words) == "" {
		return fault.New("usage/argument", "no words").At("CLAIM")
	}
	return a.With(ctx, func(c *client.Client) error {
		v, err := c.Execution(ctx, &loomv1.Query{Id: execution})
		if err != nil {
			return err
		}
		x, def := v.Executions[0], v.Definition
		record, err := recordOf(ctx, c, x)
		if err != nil {
			return err
		}
		named, made := len(files) > 0, delivered(def, x)
		if !named {
			files = made
		}
		list, looked, err := claims(words, files, named, func(name, text string) *provenance.Claim {
			return record.Claim(words, deliveredAs(name, made), text, def, x, func(e sourcelist.Entry) string { return said(ctx, c, e) })
		})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fault.New("usage/argument", "these words are in none of the files %q", looked).At("CLAIM").Got(words).
				Want("words as they stand there; where the files are elsewhere, go there or name one with --in")
		}
		return a.PrintAny(list, func(w io.Writer) { claimsText(w, list) })
	})
}

// claims looks for words in files of this directory. One that was not named and is not
// here is passed over.
func claims(words string, files []string, named bool, of func(name, text string) *provenance.Claim) (list []*provenance.Claim, looked []string, err error) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil && !named {
			continue
		}
		if err != nil {
			return nil, nil, fault.New("usage/argument", "the file cannot be read").At("--in").Got(name).Because(err)
		}
		text, ok := verify.Readable(name, data)
		if !ok {
			text = string(data)
		}
		looked = append(looked, name)
		if c := of(name, text); c != nil {
			list = append(list, c)
		}
	}
	if len(looked) == 0 {
		err = fault.New("usage/argument", "none of the files that were delivered is here").At("CLAIM").Got(words).Want("go where they are, or name one with --in")
	}
	return list, looked, err
}

// delivered names what the phases of an execution have delivered.
func delivered(def *loomv1.Definition, x *loomv1.Execution) (names []string) {
	for _, n := range def.GetNodes() {
		phase, err := verify.InContext(n.Phase, x.GetContext())
		if err != nil || x.GetNodes()[n.Id].GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
			continue
		}
		for _, d := range verify.Deliverables(phase) {
			names = append(names, d.Name)
		}
	}
	return names
}

// deliveredAs is the name under which a file was delivered that stands at a path: the
// longest that the path ends in, or else the path.
func deliveredAs(file string, names []string) string {
	at, as := "/"+filepath.ToSlash(filepath.Clean(file)), ""
	for _, name := range names {
		if strings.HasSuffix(at, "/"+name) && len(name) > len(as) {
			as = name
		}
	}
	return cmp.Or(as, file)
}

// recordOf reads from the journal who did what for the bead of an execution.
func recordOf(ctx context.Context, c *client.Client, x *loomv1.Execution) (*provenance.Record, error) {
	record := provenance.Of(x.Bead)
	archive := ""
	c.Cut = func(cut *loomv1.JournalCut) { archive = cut.Archive }
	q := &loomv1.NoticesRequest{Project: x.Project, Kinds: provenance.Kinds()}
	err := c.Follow(ctx, q, false, func(n *loomv1.Notice) error {
		record.Add(n.Event)
		return nil
	})
	if err == nil && !record.Whole() {
		err = fault.New("journal/archived", "the journal was cut after work on %s had begun: what was read before is not in it", x.Bead).
			At("--execution").Got(x.Id).Want("restore archive %q elsewhere and ask there", archive)
	}
	return record, err
}

// said are the words of a source; none where they were not kept, or cannot be had.
func said(ctx context.Context, c *client.Client, e sourcelist.Entry) string {
	if e.Kept() == "" {
		return ""
	}
	data, _, err := c.ReadBlob(ctx, project.Of(e.Execution), e.Kept())
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

func claimsText(w io.Writer, list []*provenance.Claim) {
	for i, c := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		where := fmt.Sprintf("%s:%d", c.Made.Path, c.First)
		fmt.Fprintf(w, "%s: made in %s", console.Line(where, 200), cmp.Or(c.Made.Phase, "no phase of its own"))
		switch {
		case c.Made.Process != "":
			fmt.Fprintf(w, ", by process %s", console.Line(c.Made.Process, 80))
		case c.Made.Agent != "":
			fmt.Fprintf(w, ", attempt %s, by %s with %s", c.Made.Attempt, console.Line(c.Made.Agent, 80), console.Line(cmp.Or(strings.Join(c.Made.Models, ", "), "no model"), 120))
		}
		fmt.Fprintln(w)
		known := c.Made.Attempt != ""
		if !known && len(c.Rests) > 0 {
			fmt.Fprintln(w, "  no attempt is known to have made it: these are all sources of the work")
		}
		for _, a := range c.Unread {
			fmt.Fprintf(w, "  cites %s, which nobody has read\n", console.Line(a, 200))
		}
		if len(c.Rests) == 0 {
			fmt.Fprintln(w, "  nothing "+map[bool]string{true: "had been read outside of the workspace before", false: "was read outside of the workspace"}[known])
		}
		for _, r := range c.Rests {
			fmt.Fprintf(w, "  %s  source %d, untrusted: %s, read %s by %s, sha256 %.12s\n", grounds(r, known), r.Number, console.Line(r.Address, 200), r.At.Format(time.RFC3339), r.Node, r.SHA256)
		}
	}
}

// grounds says how a source has to do with a claim; before says that it was read before.
func grounds(r provenance.Rest, before bool) string {
	var is []string
	if r.Cited {
		is = append(is, "cited")
	}
	switch {
	case r.Words:
		is = append(is, "has these words")
	case r.Numbers:
		is = append(is, "has these numbers")
	}
	switch {
	case len(is) == 0 && before:
		return "read before"
	case len(is) == 0:
		return "read"
	}
	return strings.Join(is, ", ")
}
