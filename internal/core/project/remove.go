package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// removeProject ends that the project takes new work. While a bead is open, or an
// execution of one that is closed goes on, it is refused and changes nothing; removing
// what is removed changes nothing either.
func (d *decision) removeProject(c *loomv1.RemoveProject) error {
	switch {
	case d.s.p.Config == nil:
		return UnknownProject(d.s.cfg.ID)
	case d.s.p.Config.Removed != nil:
		return nil
	case len(c.GetReason()) > MaxComment:
		return fault.New("project/invalid", "the reason has %d bytes, the most is %d", len(c.Reason), MaxComment).At("reason")
	}
	if err := d.s.idleProject(); err != nil {
		return err
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ProjectRemoved{ProjectRemoved: &loomv1.ProjectRemoved{Reason: c.GetReason()}}})
}

// idleProject returns project/has-work while something is to be done or under way.
func (s *State) idleProject() error {
	beads := 0
	for _, b := range s.p.Beads { // what has ended may be in segments, what is open never is
		if !ended(b.Status) {
			beads++
		}
	}
	if beads == 0 && len(s.open) == 0 {
		return nil
	}
	return fault.New("project/has-work", "project %q has %s and %s under way", s.cfg.ID, fault.Count(beads, "open bead"), fault.Count(len(s.open), "execution")).At("project").
		Want("loom bead list --project %s shows them; let them end, or end them with loom execution close and loom bead close", s.cfg.ID)
}

// applyRemoved folds a removal. All that the project has stays, its registration among it.
func (s *State) applyRemoved(e *loomv1.Event) error {
	if s.p.Config == nil {
		return fmt.Errorf("removal of a project that was never registered")
	}
	s.p.Config = proto.CloneOf(s.p.Config)
	s.p.Config.Removed = e.Time
	return nil
}

// takes returns project/removed for a command that would add to a project which was
// removed. What ends, releases, notes or forgets goes on, and so do signed orders: the
// keys of a removed project have to stay those of the deployment.
func (s *State) takes(cmd *loomv1.Command) error {
	if s.p.Config.GetRemoved() == nil {
		return nil
	}
	switch b := cmd.Body.(type) {
	case *loomv1.Command_ActInSession:
		if b.ActInSession.GetSession() != "" {
			return nil
		}
	case *loomv1.Command_Converse:
		if b.Converse.GetClose() != nil || b.Converse.GetStop() != nil {
			return nil
		}
	case *loomv1.Command_FileBead, *loomv1.Command_FileError, *loomv1.Command_UpdateBead, *loomv1.Command_ReopenBead,
		*loomv1.Command_ForkExecution, *loomv1.Command_TellExecution, *loomv1.Command_SetContext, *loomv1.Command_StoreDefinition,
		*loomv1.Command_AddDecision, *loomv1.Command_LinkDecision, *loomv1.Command_SupersedeDecision, *loomv1.Command_AbandonDecision,
		*loomv1.Command_ImportDecisions, *loomv1.Command_OpenBallot, *loomv1.Command_CastVote,
		*loomv1.Command_KeepMemory, *loomv1.Command_ChangeMemory:
	default:
		return nil
	}
	return fault.New("project/removed", "project %q was removed at %s", s.cfg.ID, s.p.Config.Removed.AsTime().Format("2006-01-02 15:04:05")).
		At("project").Want("loom project add %s has it take work again", suggest.Arg(s.cfg.ID+"="+s.p.Config.Repository))
}
