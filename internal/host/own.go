package host

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// ownErrors files what goes wrong within Loom as error reports of service
// "loom", like those of any other service, so that the same agents mend it. It
// cannot cascade: the project's governor counts such reports, and what goes
// wrong with a report is only logged.
type ownErrors struct {
	waiting chan actors.Trouble
	do      func(ctx context.Context, project string, cmd *loomv1.Command) error // in the host's name
	only    func() string                                                        // the only project, or ""
	log     *slog.Logger
}

func newOwnErrors(do func(context.Context, string, *loomv1.Command) error, only func() string, log *slog.Logger) *ownErrors {
	return &ownErrors{waiting: make(chan actors.Trouble, ownWaiting), do: do, only: only, log: log}
}

// How many errors may wait to be filed, and how long filing one may take.
const (
	ownWaiting = 64
	ownWithin  = 30 * time.Second
)

// note takes note of an internal error. It never blocks; what it has no
// room for is only in the log, where whoever calls it has written it.
func (o *ownErrors) note(t actors.Trouble) {
	select {
	case o.waiting <- t:
	default:
		o.log.Warn("an error of Loom's own is not filed: too many wait", "kind", t.Kind)
	}
}

// run files internal errors until ctx ends.
func (o *ownErrors) run(ctx context.Context) {
	for {
		select {
		case t := <-o.waiting:
			if err := o.file(ctx, t); err != nil && ctx.Err() == nil {
				o.log.Warn("an error of Loom's own could not be filed", "kind", t.Kind, "project", t.Project, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// setAside tells of a task that was set aside because of Loom, and not because
// of what its publisher wrote: for that nobody need mend anything here.
func (o *ownErrors) setAside(subj string, why error) {
	if code := fault.Code(why); code != "" && code != "internal/error" {
		return
	}
	t := actors.Trouble{Kind: "set-aside", Message: fmt.Sprintf("a message on %s could not be handled and is set aside: %s", subj, why)}
	if rest := subject.After(subject.Must("task"), subj); len(rest) == 1 {
		t.Project = rest[0]
	}
	o.note(t)
}

// file files an internal error into the project that it is about, else
// into the only one there is.
func (o *ownErrors) file(ctx context.Context, t actors.Trouble) error {
	id := t.Project
	if id == "" || id == project.System {
		id = o.only()
	}
	if id == "" {
		return fault.New("project/unknown", "it is about no project, and this deployment does not have exactly one: %s", t.Message)
	}
	ctx, cancel := context.WithTimeout(ctx, ownWithin)
	defer cancel()
	return o.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: t.Report()}}})
}
