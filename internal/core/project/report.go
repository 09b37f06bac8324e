package project

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Self is the service whose errors are Loom's own.
const Self = "loom"

// Files says whether a report of that status asks for a bead at all: one of a
// crash, or of a status of 500 and above.
func Files(r *loomv1.ErrorReport) bool { return r.Status >= 500 || r.Crash || r.Status == 0 }

func (d *decision) fileError(r *loomv1.ErrorReport) (*loomv1.Answer, error) {
	if errs := d.checkReport(r); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	route, _ := RouteOf(Routes(d.s.p.Config), r)
	if !Files(r) || route.GetIgnore() {
		return submitted("", "", false), nil
	}
	key, digest := d.requestKey(r.IdempotencyKey, r)
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	print := Fingerprint(r)
	if id, ok := d.s.prints[print]; ok {
		b := d.s.bead(id)
		err := d.emit(&loomv1.Event{Bead: id, Execution: b.Execution, Fact: &loomv1.Event_BeadOccurred{BeadOccurred: &loomv1.BeadOccurred{
			Occurrences: b.Occurrences + 1, Request: key, RequestDigest: digest,
		}}})
		return submitted(id, b.Execution, true), err
	}
	kind := d.governed(r)
	if err := d.admit(kind); err != nil {
		return nil, err
	}
	return d.file(d.reported(r, route, print), filing{request: key, digest: digest, governed: kind})
}

// reported returns the bead that a report asks for.
func (d *decision) reported(r *loomv1.ErrorReport, route *loomv1.Route, print string) *loomv1.Bead {
	process := first(route.GetProcess(), AutoBug)
	if d.s.p.Latest[process] == "" {
		process = AutoBug // the rule was made for another time
	}
	return &loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: cut(fmt.Sprintf("%s: %s", r.Service, oneLine(seen(r.Message))), MaxGoal),
		Description: seen(r.Message), Priority: priority(route.GetPriority()), Labels: route.GetLabels(), Assignee: route.GetAssignee(),
		Process: process, Fingerprint: print, Occurrences: 1, Report: r, Follows: d.s.index.printed[print],
	}
}

func (d *decision) checkReport(r *loomv1.ErrorReport) []*fault.Error {
	if r == nil {
		return []*fault.Error{fault.New("command/malformed", "nothing is reported").At("report")}
	}
	var errs []*fault.Error
	add := func(e *fault.Error) { errs = append(errs, e) }
	if d.s.p.Config == nil || d.s.p.Latest[AutoBug] == "" {
		return []*fault.Error{fault.New("project/unknown", "project %q is not registered on this deployment", d.s.cfg.ID).At("project")}
	}
	if _, err := subject.Parse("service", r.Service); err != nil {
		add(fault.From(err))
	}
	if strings.TrimSpace(r.Message) == "" {
		add(fault.New("submit/invalid-field", "message is empty").At("message").Want("say what went wrong"))
	}
	if r.Status != 0 && (r.Status < 100 || r.Status > 599) {
		add(fault.New("submit/invalid-field", "status is not 0 or 100 to 599").At("status").Got(fmt.Sprint(r.Status)))
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{{"kind", r.Kind, 64}, {"message", r.Message, 16 << 10}, {"stack", r.Stack, 64 << 10}} {
		if len(f.value) > f.most {
			add(fault.New("submit/too-large", "%s has %d bytes, the most is %d", f.name, len(f.value), f.most).At(f.name))
		}
	}
	if len(r.Attributes) > 64 {
		add(fault.New("submit/too-large", "%d attributes, the most is 64", len(r.Attributes)).At("attributes"))
	}
	return append(errs, checkKey(r.IdempotencyKey)...)
}

var volatile = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+`)

// Fingerprint returns what makes two reports the same error: service, kind,
// the message and the stack's first five lines with numbers and addresses
// taken out.
func Fingerprint(r *loomv1.ErrorReport) string {
	lines := strings.SplitN(r.Stack, "\n", 6)
	stack := strings.Join(lines[:min(len(lines), 5)], "\n")
	return hexHash(r.Service, r.Kind, volatile.ReplaceAllString(r.Message, "#"), volatile.ReplaceAllString(stack, "#"))[:32]
}
