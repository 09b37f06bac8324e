package bead

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Submit returns the command of that name.
func (a *Commands) Submit() *cobra.Command {
	var s loomv1.Submission
	var o order
	var wait Waiting
	cmd := &cobra.Command{
		Use:   "submit GOAL... [flags]",
		Short: "file a bead",
		Long: `Submit files a bead and prints its id once it is durable. The goal is plain
words; quote it if it holds what your shell would eat. The same
--idempotency-key within a day files nothing new and prints the first bead's id.`,
		Example: `  loom submit --type bug "The total is wrong for orders of exactly 50.00"
  loom submit --project shop --wait --deadline 4h "Write a changelog"
  loom submit --blocked-by shop-7 --budget-tokens 200000 "Use the new schema"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Goal = strings.Join(args, " ")
			if err := o.fill(cmd, &s); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				a.FillProject(cmd.Context(), c, &s.Project)
				reply, err := c.Submit(cmd.Context(), &s)
				if err != nil {
					return err
				}
				return a.Submitted(cmd.Context(), c, fresh(&s, reply), wait)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Process, "process", "", "`NAME` of the process or workflow to work by (default: the project's; see \"loom project list\")")
	f.StringVar(&s.Description, "description", "", "`TEXT` with everything else worth knowing")
	f.StringVar(&o.kind, "type", "task", "`TYPE`: task or bug")
	f.StringVar(&o.priority, "priority", "normal", "`PRIORITY`: urgent, normal or low")
	f.StringVar(&o.deadline, "deadline", "", "not later than this `TIME`: RFC 3339, or a duration from now such as 4h")
	f.StringSliceVar(&s.Labels, "label", nil, "`LABEL`; may be given again")
	f.StringArrayVar(&o.values, "set", nil, "context value `KEY=VALUE` (VALUE is JSON, else text); may be given again")
	f.StringVar(&s.IdempotencyKey, "idempotency-key", "", "`KEY` by which the same submission is known again")
	f.StringVar(&s.Parent, "parent", "", "`BEAD` that this one is a part of")
	f.StringSliceVar(&s.BlockedBy, "blocked-by", nil, "`BEAD` that must be closed before; may be given again")
	f.StringArrayVar(&s.Stakeholders, "stakeholder", nil, "`WHO` has a say or is touched, and how; may be given again")
	f.StringVar(&s.Assignee, "assignee", "", "`ROLE` that the work is meant for, where the process leaves a choice")
	o.budget.add(cmd)
	wait.Flags(f)
	f.StringVar(&s.Project, "project", "", "`NAME` of the project (default: the one you are in, else the host's only one)")
	completes(cmd, map[string][]string{"type": types[:2], "priority": priorities, "assignee": roleNames()})
	return cmd
}

// fresh is the answer to a submission: without a key of the caller's it is a new one, also
// where the request was sent again because a host kept silent.
func fresh(s *loomv1.Submission, r *loomv1.SubmitReply) *loomv1.SubmitReply {
	if s.IdempotencyKey == "" {
		r.Duplicate = false
	}
	return r
}

// order is what the flags of submit say in words.
type order struct {
	kind, priority, deadline string
	values                   []string
	budget                   budgetFlags
}

// fill fills in s, and returns everything that is wrong at once.
func (o order) fill(cmd *cobra.Command, s *loomv1.Submission) error {
	var errs []*fault.Error
	add := func(err error) {
		if err != nil {
			errs = append(errs, fault.From(err))
		}
	}
	if strings.TrimSpace(s.Goal) == "" { // before it is asked which project is meant
		add(fault.New("submit/empty-goal", "goal is empty").At("goal").Want("say in a few words what is to be achieved"))
	}
	add(console.CheckName("--project", s.Project))
	if s.Process != "" {
		add(console.CheckName("--process", s.Process))
	}
	t, ok := loomv1.BeadType_value["BEAD_TYPE_"+strings.ToUpper(o.kind)]
	if s.Type = loomv1.BeadType(t); !ok || o.kind == "approval" || o.kind == "unspecified" {
		add(fault.New("submit/invalid-field", "unknown type").At("--type").Got(o.kind).Want("task or bug"))
	}
	p, ok := loomv1.Priority_value["PRIORITY_"+strings.ToUpper(o.priority)]
	if s.Priority = loomv1.Priority(p); !ok || p == 0 {
		add(fault.New("submit/invalid-field", "unknown priority").At("--priority").Got(o.priority).Want("urgent, normal or low"))
	}
	if o.deadline != "" {
		at, err := parseDeadline(o.deadline)
		s.Deadline = timestamppb.New(at)
		add(err)
	}
	add(FillContext(s, o.values))
	add(console.CheckName("--assignee", s.Assignee))
	if s.Parent != "" {
		add(console.CheckID("--parent", s.Parent))
	}
	for _, id := range s.BlockedBy {
		add(console.CheckID("--blocked-by", id))
	}
	budget := &loomv1.Budget{}
	given, err := o.budget.fill(cmd, budget)
	add(err)
	add(o.budget.none(cmd))
	if given {
		s.Budget = budget
	}
	return fault.Join(errs)
}

func parseDeadline(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return time.Now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fault.New("submit/invalid-field", "not a time and not a duration").At("--deadline").Got(s).Want("2026-01-02T15:04:05Z or 4h")
	}
	return at, nil
}

// FillContext adds what --context says to a submission. It refuses what is not NAME=VALUE.
func FillContext(s *loomv1.Submission, values []string) error {
	if len(values) == 0 {
		return nil
	}
	var err error
	s.Context, err = console.Values("--set", values)
	return err
}

// Report returns the command of that name.
func (a *Commands) Report() *cobra.Command {
	var name string
	var wait Waiting
	var dry bool
	cmd := &cobra.Command{
		Use:   "report FILE [flags]",
		Short: "file an error report",
		Long: `Report files an error report, given as JSON in FILE, or on standard input with
"-". Status 500 and above, or a crash, files a bug bead by itself; the same
error while that bead is open is counted on it. With --dry-run it only says what
the project's routing rules would make of it.`,
		Example: `  loom report error.json
  echo '{"service":"checkout","status":500,"message":"wrong"}' | loom report -`,
		Args: console.Takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckName("--project", name); err != nil {
				return err
			}
			data, err := a.Read(args[0])
			if err != nil {
				return err
			}
			r := &loomv1.ErrorReport{}
			if err := actors.Decode("application/json", data, r); err != nil {
				return within(args[0], err)
			}
			r.Project = cmp.Or(name, r.Project)
			return a.With(cmd.Context(), func(c *client.Client) error {
				a.FillProject(cmd.Context(), c, &r.Project)
				if dry {
					return project.New(a.Console).DryRun(cmd.Context(), c, r)
				}
				reply, err := c.Report(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.Submitted(cmd.Context(), c, reply, wait)
			})
		},
	}
	cmd.Flags().StringVar(&name, "project", "", "`NAME` of the project (default: the report's, else the one you are in, else the host's only one)")
	wait.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&dry, "dry-run", false, "file nothing; say which routing rule the report would take")
	return cmd
}

// within names the file in place of the body that an error is about.
func within(file string, err error) error {
	f := *fault.From(err)
	if file == "-" {
		file = "standard input"
	}
	f.Where = file + strings.TrimPrefix(f.Where, "body")
	return &f
}

// Submitted prints the answer to a submission, and with wait stays until the bead is closed.
func (a *Commands) Submitted(ctx context.Context, c *client.Client, r *loomv1.SubmitReply, wait Waiting) error {
	if err := a.Print(r, func(w io.Writer) {
		switch {
		case r.Bead == "":
			fmt.Fprintln(w, "taken note of; nothing was filed")
		case r.Duplicate:
			fmt.Fprintf(w, "%s (filed before)\n", r.Bead)
		default:
			fmt.Fprintln(w, r.Bead)
		}
	}); err != nil || !wait.Wait || r.Bead == "" {
		return err
	}
	return a.Wait(ctx, c, r.Bead, "", wait.AllowGaps)
}
