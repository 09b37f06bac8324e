package project

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// field is one that people give a bead, and may change later.
type field struct {
	name  string
	check func(d *decision, b *loomv1.Bead) []*fault.Error
	set   func(to, from *loomv1.Bead)
}

// changeable are the fields that people may change, in the order in which their
// problems are told.
var changeable = []field{
	{"goal", checkGoal, func(to, from *loomv1.Bead) { to.Goal = from.Goal }},
	{"description", checkDescription, func(to, from *loomv1.Bead) { to.Description = from.Description }},
	{"deadline", checkDeadline, func(to, from *loomv1.Bead) { to.Deadline = proto.CloneOf(from.Deadline) }},
	{"budget", checkBudget, func(to, from *loomv1.Bead) { to.Budget = proto.CloneOf(from.Budget) }},
	{"priority", checkPriority, func(to, from *loomv1.Bead) { to.Priority = priority(from.Priority) }},
	{"labels", checkLabels, func(to, from *loomv1.Bead) { to.Labels = slices.Clone(from.Labels) }},
	{"parent", (*decision).checkParent, func(to, from *loomv1.Bead) { to.Parent = from.Parent }},
	{"blocked_by", (*decision).checkBlockers, func(to, from *loomv1.Bead) { to.BlockedBy = once(from.BlockedBy) }},
	{"stakeholders", checkStakeholders, func(to, from *loomv1.Bead) { to.Stakeholders = once(from.Stakeholders) }},
	{"assignee", checkAssignee, func(to, from *loomv1.Bead) { to.Assignee = from.Assignee }},
}

// set gives a bead the values that another has in all fields that people may
// change.
func set(to, from *loomv1.Bead) {
	for _, f := range changeable {
		f.set(to, from)
	}
}

// fieldNamed returns a changeable field.
func fieldNamed(name string) (field, *fault.Error) {
	known := make([]string, len(changeable))
	for i, f := range changeable {
		if f.name == name {
			return f, nil
		}
		known[i] = f.name
	}
	return field{}, fault.New("submit/unknown-field", "no field of a bead that can be changed").At("fields").Got(name).Want("%s", suggest.Among(name, known))
}

// once returns a copy of list in which everything stands once, where it first
// stood.
func once(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func problem(e *fault.Error) []*fault.Error { return []*fault.Error{e} }

func checkGoal(_ *decision, b *loomv1.Bead) []*fault.Error {
	switch goal := strings.TrimSpace(b.Goal); {
	case goal == "":
		return problem(fault.New("submit/empty-goal", "goal is empty").At("goal").Want("say in a few words what is to be achieved"))
	case len(b.Goal) > MaxGoal:
		return problem(fault.New("submit/invalid-field", "goal has %d bytes, the most is %d", len(b.Goal), MaxGoal).At("goal").Want("put the rest into the description"))
	}
	return checkSeen("goal", b.Goal)
}

func checkDescription(_ *decision, b *loomv1.Bead) []*fault.Error {
	if len(b.Description) > MaxDescription {
		return problem(fault.New("submit/too-large", "description has %d bytes, the most is %d", len(b.Description), MaxDescription).At("description"))
	}
	return checkSeen("description", b.Description)
}

// checkSeen refuses text that says something else than what people see of it.
func checkSeen(where, s string) []*fault.Error {
	for at, r := range s {
		if unseen(r) {
			return problem(fault.New("submit/invalid-field", "%s has the character U+%04X at byte %d, which is not seen", where, r, at).At(where).Want("leave it out"))
		}
	}
	return nil
}

// unseen reports whether a character steers a terminal, turns the order of what
// follows, so that code and names look like others (CVE-2021-42574), or is a tag,
// which models read and people do not see. Text in any language does without them.
func unseen(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f
}

// seen is s without what is not seen, for texts that are taken whatever they have.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, s)
}

func checkDeadline(d *decision, b *loomv1.Bead) []*fault.Error {
	switch {
	case b.Deadline == nil:
		return nil
	case b.Deadline.CheckValid() != nil:
		return problem(fault.New("submit/invalid-field", "deadline is not a time between the years 1 and 9999").At("deadline"))
	case !b.Deadline.AsTime().After(d.wall):
		return problem(fault.New("submit/past-deadline", "deadline is not in the future: %s", d.clocks()).At("deadline").Got(b.Deadline.AsTime().Format("2006-01-02T15:04:05Z07:00")).Want("a later one, or none"))
	}
	return nil
}

func checkBudget(_ *decision, b *loomv1.Bead) []*fault.Error {
	var errs []*fault.Error
	for _, bound := range []struct {
		name string
		n    int64
	}{{"tokens", b.Budget.GetTokens()}, {"micro_usd", b.Budget.GetMicroUsd()}, {"wall_seconds", b.Budget.GetWallSeconds()}} {
		if bound.n < 0 {
			errs = append(errs, fault.New("submit/negative-budget", "a bound is negative").At("budget."+bound.name).Got(fmt.Sprint(bound.n)).Want("more than 0, or nothing for no bound"))
		}
	}
	return errs
}

func checkPriority(_ *decision, b *loomv1.Bead) []*fault.Error {
	if _, ok := loomv1.Priority_name[int32(b.Priority)]; !ok {
		return problem(fault.New("submit/invalid-field", "priority %d is not known", b.Priority).At("priority").Want("urgent, normal or low"))
	}
	return nil
}

func checkLabels(_ *decision, b *loomv1.Bead) []*fault.Error {
	var errs []*fault.Error
	labels := b.Labels
	if len(labels) > MaxLabels {
		errs = append(errs, fault.New("submit/invalid-field", "%d labels, the most is %d", len(labels), MaxLabels).At("labels"))
		labels = labels[:MaxLabels]
	}
	for i, l := range labels {
		if _, err := subject.Parse("label", l); err != nil {
			errs = append(errs, fault.From(err).At(fmt.Sprintf("labels[%d]", i)))
		}
	}
	return errs
}

// Bounds of the stakeholders of a bead: how many there are, and bytes of each.
const (
	MaxStakeholders = 16
	MaxStakeholder  = 200
)

func checkStakeholders(_ *decision, b *loomv1.Bead) []*fault.Error {
	if len(b.Stakeholders) > MaxStakeholders {
		return problem(fault.New("submit/invalid-field", "%d stakeholders, the most is %d", len(b.Stakeholders), MaxStakeholders).At("stakeholders"))
	}
	var errs []*fault.Error
	for i, s := range b.Stakeholders {
		at := fmt.Sprintf("stakeholders[%d]", i)
		if strings.TrimSpace(s) == "" || len(s) > MaxStakeholder || strings.ContainsAny(s, "\r\n") {
			errs = append(errs, fault.New("submit/invalid-field", "not one line of 1 to %d bytes", MaxStakeholder).At(at).Got(s).Want("as in \"Ann, finance: decides the budget\""))
			continue
		}
		errs = append(errs, checkSeen(at, s)...)
	}
	return errs
}

// checkAssignee knows what a role's name looks like, and not which roles there
// are: a core has no table of roles, and a host that has one checks before.
func checkAssignee(_ *decision, b *loomv1.Bead) []*fault.Error {
	if b.Assignee == "" {
		return nil
	}
	if _, err := subject.Parse("assignee", b.Assignee); err != nil {
		return problem(fault.From(err).At("assignee"))
	}
	return nil
}
