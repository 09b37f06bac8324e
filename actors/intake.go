package actors

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Letter is a message from a publisher.
type Letter struct {
	// Subject it came on.
	Subject string
	// ContentType of Data; empty is protobuf.
	ContentType string
	Data        []byte
	// From is stamped by the receiving side.
	From *loomv1.Identity
	// Key is used when the publisher gave no idempotency key of its own, so
	// that a redelivery files nothing twice. Empty for requests.
	Key string
}

// Tasks delivers letters that were published to a stream.
type Tasks interface {
	// ConsumeTasks calls handle for every letter, one after the other, until
	// ctx ends. A letter is done when handle returns nil, comes again when it
	// returns an error that says "unavailable", and is set aside otherwise.
	ConsumeTasks(ctx context.Context, handle func(context.Context, Letter) error) error
}

// Intake takes submissions and error reports in.
type Intake struct {
	projects *Projects
	only     func() string // the project of a report that names none
	fit      Fit
	log      *slog.Logger
}

// Fit refuses a submission that cannot be worked on: for an assignee that is no
// role, or a process whose tools nobody has trusted.
type Fit func(ctx context.Context, s *loomv1.Submission) error

// StartIntake starts the intake actor, which consumes tasks until the system
// stops. only returns the deployment's only project, or "".
func (s *System) StartIntake(ctx context.Context, projects *Projects, tasks Tasks, only func() string, fit Fit, log *slog.Logger) *Intake {
	in := &Intake{projects: projects, only: only, fit: fit, log: log}
	s.start("intake", actor.PropsFromProducer(func() actor.Actor {
		return newLoop(ctx, s, func(ctx context.Context) error { return tasks.ConsumeTasks(ctx, in.consume) })
	}))
	return in
}

// consume handles a letter from the stream.
func (in *Intake) consume(ctx context.Context, l Letter) error {
	reply := in.Submit(ctx, l)
	err := fault.FromProto(reply.Error)
	if err != nil {
		in.log.Debug("submission refused", "subject", l.Subject, "error", err) // who sets it aside warns
	}
	return err
}

// storm is the refusal of what comes when a budget is used up. It is recorded by
// the project, once, and not each time: that would be a storm of its own.
const storm = "storm/budget"

// Submit files what a letter asks for and answers once that is durable. What is
// refused is also recorded, as an event of its project, or of the system
// project when it names none that exists.
func (in *Intake) Submit(ctx context.Context, l Letter) *loomv1.SubmitReply {
	cmd, err := in.command(ctx, l)
	if err == nil {
		cmd.Actor = l.From
		var answer *loomv1.Answer
		if answer, err = in.projects.Do(ctx, cmd); err == nil {
			return answer.GetSubmit()
		}
	}
	if fault.Status(err) != fault.Unavailable && fault.Code(err) != storm {
		in.reject(ctx, l, cmp.Or(cmd.GetProject(), projectOf(l.Subject)), err)
	}
	return refused(err)
}

// projectOf returns the project that a subject names, or "".
func projectOf(subj string) string {
	if rest := subject.After(subject.Must("task"), subj); len(rest) == 1 {
		return rest[0]
	}
	return ""
}

func (in *Intake) command(ctx context.Context, l Letter) (*loomv1.Command, error) {
	if isReport(l.Subject) {
		return in.report(ctx, l)
	}
	sub := &loomv1.Submission{}
	if err := Decode(l.ContentType, l.Data, sub); err != nil {
		return nil, err
	}
	if err := fromSubject(l.Subject, "project", &sub.Project); err != nil {
		return nil, err
	}
	if sub.Project == "" {
		sub.Project = in.only()
	}
	if err := l.key(ctx, &sub.IdempotencyKey); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: sub.Project, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}}
	if err := checkProject(sub.Project); err != nil {
		return cmd, err
	}
	return cmd, in.fit(ctx, sub)
}

func (in *Intake) report(ctx context.Context, l Letter) (*loomv1.Command, error) {
	r := &loomv1.ErrorReport{}
	if err := Decode(l.ContentType, l.Data, r); err != nil {
		return nil, err
	}
	if err := fromSubject(l.Subject, "service", &r.Service); err != nil {
		return nil, err
	}
	if r.Project == "" {
		r.Project = in.only()
	}
	if err := l.key(ctx, &r.IdempotencyKey); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: r.Project, Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: r}}}
	return cmd, checkProject(r.Project)
}

// ownKey begins the keys that intake gives, which no publisher can choose.
const ownKey = "\x00"

// key gives a message that has no idempotency key one of its own: the stream's
// id of it, so that a redelivery files nothing twice, or that of the request, so that
// asking the project again does not, nor does a request that is made again.
func (l Letter) key(ctx context.Context, given *string) error {
	switch {
	case strings.Contains(*given, ownKey):
		return fault.New("submit/invalid-field", "idempotency key holds a NUL").At("idempotency_key").Got(*given)
	case *given != "":
	case l.Key != "":
		*given = ownKey + l.Key
	default:
		*given = ownKey + OnceKey(ctx)
	}
	return nil
}

func checkProject(id string) error {
	if id == "" {
		return fault.New("project/unknown", "no project is named, and this deployment does not have exactly one").At("project").
			Want("name one; \"loom project list\" shows them")
	}
	_, err := subject.Parse("project", id)
	return err
}

// reject records a refusal; if even that is refused, the log has it.
func (in *Intake) reject(ctx context.Context, l Letter, owner string, why error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body := &loomv1.Command_RecordRejection{RecordRejection: &loomv1.RecordRejection{Error: fault.From(why).Proto(), Subject: fault.Echo(l.Subject)}}
	if owner != "" {
		if _, err := in.projects.Do(ctx, &loomv1.Command{Project: owner, Actor: l.From, Body: body}); err == nil {
			return
		}
	}
	if _, err := in.projects.Do(ctx, &loomv1.Command{Project: project.System, Actor: l.From, Body: body}); err != nil {
		in.log.Error("refused submission could not be recorded", "subject", l.Subject, "error", err)
	}
}

// loop is an actor around something that runs until its context ends. When
// that returns early, the actor fails and is started again by supervision.
type loop struct {
	sys    *System
	host   context.Context
	run    func(context.Context) error
	cancel context.CancelFunc
}

type loopEnded struct{ err error }

func newLoop(host context.Context, sys *System, run func(context.Context) error) *loop {
	return &loop{sys: sys, host: host, run: run}
}

func (l *loop) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		ctx, cancel := context.WithCancel(l.host)
		l.cancel = cancel
		root, self := c.ActorSystem().Root, c.Self()
		l.sys.aside(func() {
			if err := l.run(ctx); ctx.Err() == nil {
				root.Send(self, &loopEnded{err})
			}
		})
	case *loopEnded:
		panic(m.err)
	case *actor.Stopping, *actor.Restarting:
		l.cancel()
	}
}
