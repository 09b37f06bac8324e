package seat

import (
	"context"
	"os"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// bindTrain is bind for the commands of who drives a train, or finds that one has landed. What it says of
// the changes of others is held against the repository, so a host that has none
// refuses: the driver then lands its own change alone.
func (s *session) bindTrain(ctx context.Context, cmd *loomv1.Command) error {
	repo, target, err := s.source(ctx)
	if err != nil {
		return err
	}
	switch c := cmd.GetBody().(type) {
	case *loomv1.Command_FormTrain:
		c.FormTrain.Holder = s.who
	case *loomv1.Command_RecordTrain:
		c.RecordTrain.Holder = s.who
		return attested(ctx, repo, c.RecordTrain.Cars)
	case *loomv1.Command_SettleTrain:
		c.SettleTrain.Holder = s.who
		if s.bindLanding(ctx, c.SettleTrain.GetLanding()); c.SettleTrain.GetLanding().GetHead() == "" {
			return fault.New("request/denied", "that a train has landed is not seen here")
		}
	case *loomv1.Command_SettleLanding:
		c.SettleLanding.Holder = s.who
		return s.bindSettled(ctx, repo, target, c.SettleLanding.GetLanding())
	}
	return nil
}

// attested refuses cars whose commits are not in the repository what they are said
// to be. Whether the tests passed on them is the driver's word, as it is of its
// own change.
func attested(ctx context.Context, repo *git.Repository, cars map[string]*loomv1.Car) error {
	if len(cars) > project.MaxTrain {
		return fault.New("train/changed", "%d cars are more than the %d that a train can have", len(cars), project.MaxTrain)
	}
	for attempt, car := range cars {
		if car.GetRefused() != "" {
			continue
		}
		execution := attempt[:max(strings.LastIndex(attempt, "-a"), 0)]
		is, err := repo.Attest(ctx, execution, car.GetCandidate(), car.GetHead())
		if err != nil {
			return err
		}
		if !is {
			return fault.New("request/denied", "commit %.12s is not that of attempt %q on a train to %.12s", car.GetCandidate().GetCommit(), attempt, car.GetHead())
		}
	}
	return nil
}

// bindLanding leaves of a landing that it came with a train only what the
// repository shows: by it the landings of others end.
func (s *session) bindLanding(ctx context.Context, l *loomv1.Landing) {
	if l.GetHead() == "" {
		return
	}
	reached := false
	repo, target, err := s.source(ctx)
	if err == nil {
		reached, err = repo.Reached(ctx, target, l.Head)
	}
	if !reached { // then the others learn of it in their turn
		s.server.config.Log.Info("what an agent of a leaf host says of a train is not seen here", "attempt", s.attempt, "head", l.Head, "error", err)
		l.Head = ""
	}
}

// bindSettled refuses what the repository does not show of a change whose attempt
// has ended: that it has not landed is seen by hosts alone.
func (s *session) bindSettled(ctx context.Context, repo *git.Repository, target string, l *loomv1.Landing) error {
	if l == nil {
		return fault.New("request/denied", "that a change has not landed is not for an agent of a leaf host to say")
	}
	reached, err := repo.Reached(ctx, target, l.Commit)
	if err != nil {
		return err
	}
	if !reached {
		return fault.New("request/denied", "that commit %.12s has landed is not seen here", l.Commit)
	}
	s.bindLanding(ctx, l)
	return nil
}

// source opens the repository of the attempt's project, and says its target.
func (s *session) source(ctx context.Context) (*git.Repository, string, error) {
	view, err := s.server.config.Look(ctx, project.Projects, &loomv1.Query{Project: s.project})
	if err != nil {
		return nil, "", err
	}
	if len(view.Projects) != 1 {
		return nil, "", fault.New("project/unknown", "project %q is not registered", s.project).At("project").Got(s.project)
	}
	p := view.Projects[0]
	if _, err := os.Stat(p.Repository); err != nil {
		return nil, "", fault.New("request/denied", "the repository of project %q is not on the host that was asked, so it cannot see a train", s.project).Because(err)
	}
	r, err := s.server.config.Repository(ctx, p)
	if err != nil {
		return nil, "", err
	}
	return r.Source, p.TargetBranch, nil
}
