package project_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestSUB01_ASubmissionWithoutAProcessGetsItsProjects asks for work of both types, with
// and without labels, under several rules.
func TestSUB01_ASubmissionWithoutAProcessGetsItsProjects(t *testing.T) {
	longtest.Skip(t)
	const task, bug = loomv1.BeadType_BEAD_TYPE_TASK, loomv1.BeadType_BEAD_TYPE_BUG
	for _, tt := range []struct {
		name  string
		rules []string
		sub   *loomv1.Submission
		want  string
	}{
		{"a bug", nil, &loomv1.Submission{Type: bug}, project.AutoBug},
		{"a task", nil, &loomv1.Submission{Type: task}, project.Feature},
		{"a submission without a type is a task", nil, &loomv1.Submission{}, project.Feature},
		{"for all", []string{"small"}, &loomv1.Submission{Type: bug}, "small"},
		{"for tasks", []string{"task=small"}, &loomv1.Submission{}, "small"},
		{"for tasks, and it is a bug", []string{"task=small"}, &loomv1.Submission{Type: bug}, project.AutoBug},
		{"for bugs, and it is none", []string{"bug=small"}, &loomv1.Submission{}, project.Feature},
		{"by label", []string{"label:docs=small"}, &loomv1.Submission{Labels: []string{"web", "docs"}}, "small"},
		{"by another label", []string{"label:docs=small"}, &loomv1.Submission{Labels: []string{"web"}}, project.Feature},
		{"the first that matches", []string{"label:docs=small", "task=fan"}, &loomv1.Submission{Labels: []string{"docs"}}, "small"},
		{"it names one", []string{"small"}, &loomv1.Submission{Process: project.AutoBug}, project.AutoBug},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := small(t)
			for _, name := range []string{project.AutoBug, project.Feature} {
				def, _ := processes.Builtin(roles.Builtin()).Get(name)
				d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
			}
			if err := d.register(func(c *loomv1.ProjectConfig) {
				for _, s := range tt.rules {
					r, err := project.ParseProcess(s)
					if err != nil {
						t.Fatal(err)
					}
					c.Processes = append(c.Processes, r)
				}
			}); err != nil {
				t.Fatal(err)
			}
			sub := proto.CloneOf(tt.sub)
			sub.Goal = "do it"
			reply := d.ok(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}}).GetSubmit()
			if got := d.bead(reply.Bead).Process; got != tt.want {
				t.Errorf("it is worked on by %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSUB01_RulesForProcessesThatMakeNoSense(t *testing.T) {
	for _, s := range []string{"", "label:=small", "chore=small", "task=", "task=A B"} {
		if r, err := project.ParseProcess(s); fault.Code(err) == "" {
			t.Errorf("ParseProcess(%q) is %v, %v, want a refusal", s, r, err)
		}
	}
}
