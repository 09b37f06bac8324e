package project_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	decisionAdded  = "decision-added"
	decisionLinked = "decision-linked"
)

// An event that not all hosts read is not written, and whoever asked for it is
// told which host it is. Once all read it, the same is done.
func TestOPS01_WhatNotAllHostsReadIsRefused(t *testing.T) {
	add := remark("first")
	s := planted(t, decisionAdded)
	before := s.Hash()
	s.Agree(format.Agreed{Number: 1, Host: "h-old", Version: "0.0.9"})
	events, answer, err := s.Do(noon, add)
	if err != nil || len(events) != 0 || answer.GetError().GetCode() != "deployment/older-host" || answer.GetError().GetWhere() != "h-old" {
		t.Errorf("while a host does not read it: %d events, %v, %v", len(events), answer, err)
	}
	if s.Hash() != before {
		t.Error("what was refused has changed something")
	}
	s.Agree(format.Agreed{Number: 2, Host: "h-old"})
	if events, answer, err = s.Do(noon, add); err != nil || len(events) != 1 || answer.Error != nil {
		t.Errorf("when all hosts read it: %d events, %v, %v", len(events), answer, err)
	}
}

// A decision that has brought facts before the one that not all hosts read is
// none: nothing of it is to be written.
func TestOPS01_HalfADecisionIsNotWritten(t *testing.T) {
	s := planted(t, decisionLinked)
	if _, answer, err := s.Do(noon, remark("first")); err != nil || answer.Error != nil {
		t.Fatal(answer, err)
	}
	s.Agree(format.Agreed{Number: 1, Host: "h-old"})
	second := remark("second")
	second.GetAddDecision().Links = []*loomv1.DecisionEdge{{From: "d1", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}}
	if events, answer, err := s.Do(noon, second); err == nil || len(events) != 0 {
		t.Errorf("%d events, %v, and no error", len(events), answer)
	}
}

// planted is a project of a build in which a kind of event is new.
func planted(t *testing.T, kind string) *project.State {
	t.Helper()
	s := project.New(project.Config{ID: "shop", Epoch: 1, Format: format.Build{Reads: 2, Kinds: map[string]uint32{kind: 2}}})
	_, answer, err := s.Do(noon, &loomv1.Command{Project: "shop", Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"},
	}}})
	if err != nil || answer.Error != nil {
		t.Fatal(answer, err)
	}
	return s
}

func remark(title string) *loomv1.Command {
	return &loomv1.Command{
		Project: "shop", Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"},
		Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Request: title, Node: &loomv1.DecisionNode{
			Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: title, Confidence: 50,
		}}},
	}
}
