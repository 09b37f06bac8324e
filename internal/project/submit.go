package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/suggest"
	"github.com/loomrun/loom/internal/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of what people and publishers write, in bytes unless said otherwise.
const (
	MaxGoal        = 500
	MaxDescription = 64 << 10
	MaxContext     = 64 << 10
	MaxKey         = 128
	MaxComment     = 4 << 10
	MaxLabels      = 32 // labels
	MaxID          = 40 // bytes of a project id, so that bead and attempt ids stay tokens
)

// System is the project whose journal has what belongs to no registered one,
// such as submissions for a project that does not exist.
const System = "system"

// AutoBug is the workflow that error reports and bugs are worked by.
const AutoBug = "auto-bug-workflow"

func (d *decision) register(c *loomv1.ProjectConfig) error {
	if err := checkConfig(c); err != nil {
		return err
	}
	if c.Id != d.s.cfg.ID {
		return fault.New("project/invalid", "registration of another project was sent to project %q", d.s.cfg.ID).Got(c.Id)
	}
	old := d.s.p.Config
	if proto.Equal(c, old) {
		return nil
	}
	if old != nil && len(d.s.open) > 0 && (c.Repository != old.Repository || c.TargetBranch != old.TargetBranch) {
		return fault.New("project/conflict", "project %q has %d executions under way, approved for branch %s of %s", c.Id, len(d.s.open), old.TargetBranch, old.Repository).
			At("project").Want("let them end before work is to land elsewhere")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ProjectRegistered{ProjectRegistered: &loomv1.ProjectRegistered{Config: c}}})
}

func checkConfig(c *loomv1.ProjectConfig) error {
	if _, err := subject.Parse("project", c.GetId()); err != nil {
		return err
	}
	if len(c.Id) > MaxID {
		return fault.New("id/malformed", "project id is longer than %d bytes", MaxID).At("project").Got(c.Id)
	}
	if c.Id == System {
		return fault.New("project/invalid", "project %q is Loom's own", c.Id).At("project").Want("choose another name")
	}
	if !filepath.IsAbs(c.Repository) {
		return fault.New("project/invalid", "project %q: repository is not an absolute path", c.Id).At("repository").Got(c.Repository)
	}
	return nil
}

func (d *decision) storeDefinition(def *loomv1.Definition) error {
	c, err := workflow.Compile(def)
	if err != nil {
		return fault.New("definition/invalid", "definition %q does not compile", def.GetName()).Because(err)
	}
	hash := processes.Hash(def)
	if d.s.p.Latest[def.Name] == hash {
		return nil
	}
	_ = c // compiled again when the fact is applied, so that replay takes the same path
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_DefinitionStored{DefinitionStored: &loomv1.DefinitionStored{Definition: def, Hash: hash}}})
}

func (d *decision) fileBead(sub *loomv1.Submission) (*loomv1.Answer, error) {
	if errs := d.checkSubmission(sub); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	key, digest := d.requestKey(sub.IdempotencyKey, sub)
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	t := sub.Type
	if t == loomv1.BeadType_BEAD_TYPE_UNSPECIFIED {
		t = loomv1.BeadType_BEAD_TYPE_TASK
	}
	return d.file(&loomv1.Bead{
		Type: t, Goal: sub.Goal, Description: sub.Description, Context: sub.Context, Priority: priority(sub.Priority),
		Deadline: sub.Deadline, Labels: sub.Labels, Budget: sub.Budget, Process: d.process(sub),
	}, key, digest)
}

// file files a bead and starts its execution.
func (d *decision) file(b *loomv1.Bead, key, digest string) (*loomv1.Answer, error) {
	b.Id, b.Project, b.Status = d.nextBead(), d.s.cfg.ID, loomv1.BeadStatus_BEAD_STATUS_OPEN
	hash := d.s.p.Latest[b.Process]
	def := d.s.p.Definitions[hash]
	d.bead, d.execution = b.Id, ""
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: b, Request: key, RequestDigest: digest}}}); err != nil {
		return nil, err
	}
	d.execution = b.Id + "-x1"
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: &loomv1.ExecutionStarted{
		Definition: def.Name, Version: def.Version, DefinitionHash: hash, Checks: d.s.p.Config.Checks,
	}}}); err != nil {
		return nil, err
	}
	if err := d.run(d.s.p.Executions[d.execution]).Begin(); err != nil {
		return nil, err
	}
	return submitted(b.Id, d.execution, false), nil
}

func submitted(bead, execution string, duplicate bool) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Submit{Submit: &loomv1.SubmitReply{Bead: bead, Execution: execution, Duplicate: duplicate}}}
}

// checkSubmission returns everything that is wrong with sub at once.
func (d *decision) checkSubmission(sub *loomv1.Submission) []*fault.Error {
	var errs []*fault.Error
	add := func(e *fault.Error) { errs = append(errs, e) }
	if d.s.p.Config == nil {
		return []*fault.Error{fault.New("submit/unknown-project", "project %q is not registered on this deployment", d.s.cfg.ID).At("project")}
	}
	if sub.Project != "" && sub.Project != d.s.cfg.ID {
		add(fault.New("submit/unknown-project", "submission for another project was sent to %q", d.s.cfg.ID).At("project").Got(sub.Project))
	}
	switch goal := strings.TrimSpace(sub.Goal); {
	case goal == "":
		add(fault.New("submit/empty-goal", "goal is empty").At("goal").Want("say in a few words what is to be achieved"))
	case len(sub.Goal) > MaxGoal:
		add(fault.New("submit/invalid-field", "goal has %d bytes, the most is %d", len(sub.Goal), MaxGoal).At("goal").Want("put the rest into the description"))
	}
	if len(sub.Description) > MaxDescription {
		add(fault.New("submit/too-large", "description has %d bytes, the most is %d", len(sub.Description), MaxDescription).At("description"))
	}
	if name := d.process(sub); d.s.p.Latest[name] == "" {
		add(fault.New("submit/unknown-process", "process is not known in project %q", d.s.cfg.ID).At("process").Got(name).Want("%s", d.suggestProcess(name)))
	}
	if sub.Deadline != nil && sub.Deadline.CheckValid() != nil {
		add(fault.New("submit/invalid-field", "deadline is not a time between the years 1 and 9999").At("deadline"))
	} else if sub.Deadline != nil && !sub.Deadline.AsTime().After(d.now) {
		add(fault.New("submit/past-deadline", "deadline is not in the future").At("deadline").Got(sub.Deadline.AsTime().Format("2006-01-02T15:04:05Z07:00")))
	}
	if b := sub.Budget; b.GetTokens() < 0 || b.GetMicroUsd() < 0 || b.GetWallSeconds() < 0 {
		add(fault.New("submit/negative-budget", "budget is negative").At("budget"))
	}
	switch sub.Type {
	case loomv1.BeadType_BEAD_TYPE_UNSPECIFIED, loomv1.BeadType_BEAD_TYPE_TASK, loomv1.BeadType_BEAD_TYPE_BUG:
	default:
		add(fault.New("submit/invalid-field", "type %s cannot be submitted", sub.Type).At("type").Want("task or bug"))
	}
	if _, ok := loomv1.Priority_name[int32(sub.Priority)]; !ok {
		add(fault.New("submit/invalid-field", "priority %d is not known", sub.Priority).At("priority").Want("urgent, normal or low"))
	}
	errs = append(errs, checkLabels(sub.Labels)...)
	errs = append(errs, checkContext(sub.Context)...)
	return append(errs, checkKey(sub.IdempotencyKey)...)
}

func checkLabels(labels []string) []*fault.Error {
	var errs []*fault.Error
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

func checkContext(c *structpb.Struct) []*fault.Error {
	if c == nil {
		return nil
	}
	data, err := protojson.Marshal(c)
	if err != nil {
		return []*fault.Error{fault.New("submit/invalid-field", "context is not valid: %s", err).At("context")}
	}
	if len(data) > MaxContext {
		return []*fault.Error{fault.New("submit/too-large", "context has %d bytes as JSON, the most is %d", len(data), MaxContext).At("context")}
	}
	return nil
}

func checkKey(key string) []*fault.Error {
	if len(key) > MaxKey {
		return []*fault.Error{fault.New("submit/invalid-field", "idempotency key has %d bytes, the most is %d", len(key), MaxKey).At("idempotency_key")}
	}
	return nil
}

func (d *decision) process(sub *loomv1.Submission) string {
	return first(sub.Process, first(d.s.p.Config.GetDefaultProcess(), AutoBug))
}

func (d *decision) suggestProcess(name string) string {
	var names []string
	for n := range d.s.p.Latest {
		names = append(names, n)
	}
	slices.Sort(names)
	return suggest.Among(name, names)
}

func priority(p loomv1.Priority) loomv1.Priority {
	if p == loomv1.Priority_PRIORITY_UNSPECIFIED {
		return loomv1.Priority_PRIORITY_NORMAL
	}
	return p
}

// requestKey hashes who asks with the key it gave, so that one publisher
// cannot answer for another's key; and what it asks, to tell a repeat from a
// re-used key. Both are empty without a key.
func (d *decision) requestKey(key string, msg proto.Message) (hash, digest string) {
	if key == "" {
		return "", ""
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		data = []byte(err.Error())
	}
	return hexHash("request", d.actor.GetKind().String(), d.actor.GetName(), key), hexHash(string(data))
}

func hexHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// recall answers a request that was answered before.
func (d *decision) recall(key, digest string) (*loomv1.Answer, error) {
	r, ok := d.s.p.Requests[key]
	if key == "" || !ok || d.now.Sub(r.Time.AsTime()) >= rememberFor {
		return nil, nil
	}
	if r.Digest != digest {
		return nil, fault.New("submit/key-reused", "idempotency key was used for other work: bead %s since %s", r.Id, r.Time.AsTime().Format("2006-01-02T15:04:05Z")).At("idempotency_key")
	}
	return submitted(r.Id, d.s.p.Beads[r.Id].GetExecution(), true), nil
}

func (d *decision) fileError(r *loomv1.ErrorReport) (*loomv1.Answer, error) {
	if errs := d.checkReport(r); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	if r.Status < 500 && !r.Crash && r.Status != 0 {
		return submitted("", "", false), nil
	}
	key, digest := d.requestKey(r.IdempotencyKey, r)
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	print := Fingerprint(r)
	if id, ok := d.s.prints[print]; ok {
		b := d.s.p.Beads[id]
		err := d.emit(&loomv1.Event{Bead: id, Execution: b.Execution, Fact: &loomv1.Event_BeadOccurred{BeadOccurred: &loomv1.BeadOccurred{
			Occurrences: b.Occurrences + 1, Request: key, RequestDigest: digest,
		}}})
		return submitted(id, b.Execution, true), err
	}
	return d.file(&loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_BUG, Goal: cut(fmt.Sprintf("%s: %s", r.Service, oneLine(r.Message)), MaxGoal),
		Description: r.Message, Priority: loomv1.Priority_PRIORITY_NORMAL, Process: AutoBug,
		Fingerprint: print, Occurrences: 1, Report: r,
	}, key, digest)
}

func (d *decision) checkReport(r *loomv1.ErrorReport) []*fault.Error {
	var errs []*fault.Error
	add := func(e *fault.Error) { errs = append(errs, e) }
	if d.s.p.Config == nil || d.s.p.Latest[AutoBug] == "" {
		return []*fault.Error{fault.New("submit/unknown-project", "project %q is not registered on this deployment", d.s.cfg.ID).At("project")}
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens s to at most n bytes at a rune's edge.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
