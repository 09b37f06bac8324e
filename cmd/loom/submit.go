package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) submit() *cobra.Command {
	var s loomv1.Submission
	var kind, priority, deadline string
	var values []string
	var wait bool
	cmd := &cobra.Command{
		Use:   "submit [flags] GOAL...",
		Short: "file a bead",
		Long: `Submit files a bead and prints its id once it is durable. The goal is plain
words; quote it if it holds what your shell would eat. The same --key within a
day files nothing new and prints the first bead's id.`,
		Example: `  loom submit --project shop --type bug "The total is wrong for orders of exactly 50.00"`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Goal = strings.Join(args, " ")
			if err := fillSubmission(&s, kind, priority, deadline, values); err != nil {
				return err
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Submit(cmd.Context(), &s)
				if err != nil {
					return err
				}
				return a.submitted(cmd.Context(), c, reply, wait)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Project, "project", "", "project (default: the host's only one)")
	f.StringVar(&s.Process, "process", "", "process or workflow to work by (default: the project's)")
	f.StringVar(&s.Description, "description", "", "everything else worth knowing")
	f.StringVar(&kind, "type", "task", "task or bug")
	f.StringVar(&priority, "priority", "normal", "urgent, normal or low")
	f.StringVar(&deadline, "deadline", "", "not later than: RFC 3339, or a duration from now such as 4h")
	f.StringSliceVar(&s.Labels, "label", nil, "label; may be given again")
	f.StringArrayVar(&values, "set", nil, "context value KEY=VALUE (VALUE is JSON, else text); may be given again")
	f.StringVar(&s.IdempotencyKey, "key", "", "idempotency key")
	f.BoolVar(&wait, "wait", false, "stay until the bead is closed; exit 1 if it failed, 10 if it waits for a human")
	return cmd
}

func fillSubmission(s *loomv1.Submission, kind, priority, deadline string, values []string) error {
	t, ok := loomv1.BeadType_value["BEAD_TYPE_"+strings.ToUpper(kind)]
	if !ok {
		return fault.New("submit/invalid-field", "unknown type").At("--type").Got(kind).Want("task or bug")
	}
	p, ok := loomv1.Priority_value["PRIORITY_"+strings.ToUpper(priority)]
	if !ok {
		return fault.New("submit/invalid-field", "unknown priority").At("--priority").Got(priority).Want("urgent, normal or low")
	}
	s.Type, s.Priority = loomv1.BeadType(t), loomv1.Priority(p)
	if deadline != "" {
		at, err := parseDeadline(deadline)
		if err != nil {
			return err
		}
		s.Deadline = timestamppb.New(at)
	}
	return fillContext(s, values)
}

func parseDeadline(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return time.Now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return at, fault.New("submit/invalid-field", "not a time and not a duration").At("--deadline").Got(s).Want("2026-01-02T15:04:05Z or 4h")
	}
	return at, nil
}

func fillContext(s *loomv1.Submission, values []string) error {
	if len(values) == 0 {
		return nil
	}
	m := map[string]any{}
	for _, kv := range values {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return fault.New("submit/invalid-field", "not KEY=VALUE").At("--set").Got(kv)
		}
		var parsed any
		if json.Unmarshal([]byte(v), &parsed) != nil {
			parsed = v
		}
		m[k] = parsed
	}
	var err error
	s.Context, err = structpb.NewStruct(m)
	return err
}

func (a *app) report() *cobra.Command {
	var project string
	var wait bool
	cmd := &cobra.Command{
		Use:   "report [--project NAME] FILE",
		Short: "file an error report",
		Long: `Report files an error report, given as JSON in FILE or on standard input with
"-". Status 500 and above, or a crash, files a bug bead by itself; the same error
while that bead is open is counted on it.`,
		Example: `  echo '{"service":"checkout","status":500,"message":"total is wrong"}' | loom report -`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := a.read(args[0])
			if err != nil {
				return err
			}
			r := &loomv1.ErrorReport{}
			if err := actors.Decode("application/json", data, r); err != nil {
				return fault.From(err).At(args[0])
			}
			if project != "" {
				r.Project = project
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Report(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.submitted(cmd.Context(), c, reply, wait)
			})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "project (default: the report's, else the host's only one)")
	cmd.Flags().BoolVar(&wait, "wait", false, "stay until the bead is closed; exit 1 if it failed, 10 if it waits for a human")
	return cmd
}

// read reads a file, or standard input for "-", within a submission's limit.
func (a *app) read(name string) ([]byte, error) {
	r := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, actors.MaxSubmission+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read: %s", err).At(name)
	}
	return data, nil
}

func (a *app) submitted(ctx context.Context, c *client.Client, r *loomv1.SubmitReply, wait bool) error {
	if err := a.print(r, func(w io.Writer) {
		switch {
		case r.Bead == "":
			fmt.Fprintln(w, "taken note of; nothing was filed")
		case r.Duplicate:
			fmt.Fprintf(w, "%s (filed before)\n", r.Bead)
		default:
			fmt.Fprintln(w, r.Bead)
		}
	}); err != nil || !wait || r.Bead == "" {
		return err
	}
	return a.wait(ctx, c, r.Bead)
}

// errStop ends a Follow that has seen enough.
var errStop = errors.New("stop")

// wait follows a bead until it ends or a human must decide.
func (a *app) wait(ctx context.Context, c *client.Client, bead string) error {
	var status loomv1.BeadStatus
	err := c.Follow(ctx, &loomv1.NoticesRequest{Bead: bead, Project: project.Of(bead)}, true, func(n *loomv1.Notice) error {
		fmt.Fprintln(a.err, line(n.Summary, 200))
		if s := n.Event.GetBeadStatusChanged(); s != nil && n.Event.Bead == bead {
			switch status = s.Status; status {
			case loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, loomv1.BeadStatus_BEAD_STATUS_OPEN:
			default:
				return errStop
			}
		}
		return nil
	})
	if !errors.Is(err, errStop) {
		return err
	}
	switch status {
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED:
		return nil
	case loomv1.BeadStatus_BEAD_STATUS_WAITING, loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
		return exitError{fault.Waits}
	}
	return exitError{fault.WorkFailed}
}
