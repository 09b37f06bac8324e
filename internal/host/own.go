package host

import (
	"context"
	"fmt"
	"sync"
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
	done    sync.WaitGroup
}

func newOwnErrors() *ownErrors { return &ownErrors{waiting: make(chan actors.Trouble, ownWaiting)} }

// How many errors may wait to be filed, and how long filing one may take.
const (
	ownWaiting = 64
	ownWithin  = 30 * time.Second
)

// trouble takes note of an internal error. It never blocks; what it has no
// room for is only in the log, where whoever calls it has written it.
func (h *Host) trouble(t actors.Trouble) {
	select {
	case h.own.waiting <- t:
	default:
		h.log.Warn("an error of Loom's own is not filed: too many wait", "kind", t.Kind)
	}
}

// fileOwn files internal errors until the host stops.
func (h *Host) fileOwn() {
	for {
		select {
		case t := <-h.own.waiting:
			if err := h.fileTrouble(t); err != nil && h.ctx.Err() == nil {
				h.log.Warn("an error of Loom's own could not be filed", "kind", t.Kind, "project", t.Project, "error", err)
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// setAside tells of a task that was set aside because of Loom, and not because
// of what its publisher wrote: for that nobody need mend anything here.
func (h *Host) setAside(subj string, why error) {
	if code := fault.Code(why); code != "" && code != "internal/error" {
		return
	}
	t := actors.Trouble{Kind: "set-aside", Message: fmt.Sprintf("a message on %s could not be handled and is set aside: %s", subj, why)}
	if rest := subject.After(subject.Must("task"), subj); len(rest) == 1 {
		t.Project = rest[0]
	}
	h.trouble(t)
}

// fileTrouble files an internal error into the project that it is about, else
// into the only one there is.
func (h *Host) fileTrouble(t actors.Trouble) error {
	id := t.Project
	if id == "" || id == project.System {
		id = h.known.Only()
	}
	if id == "" {
		return fault.New("submit/unknown-project", "it is about no project, and this deployment does not have exactly one: %s", t.Message)
	}
	ctx, cancel := context.WithTimeout(h.ctx, ownWithin)
	defer cancel()
	return h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: t.Report()}}})
}
