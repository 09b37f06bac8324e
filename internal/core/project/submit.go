package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/verify"
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
	MaxID          = subject.MaxProject
)

// System is the project whose journal has what belongs to no registered one,
// such as submissions for a project that does not exist.
const System = "system"

// AutoBug is the workflow that error reports and bugs are worked by.
const AutoBug = "auto-bug-workflow"

// Feature is the process of tasks where a project says nothing else, if it has it.
const Feature = "feature-delivery"

func (d *decision) register(r *loomv1.RegisterProject) error {
	c := r.GetConfig()
	if err := CheckConfig(c); err != nil {
		return err
	}
	if c.Id != d.s.cfg.ID {
		return fault.New("project/invalid", "registration of another project was sent to project %q", d.s.cfg.ID).Got(c.Id)
	}
	old := d.s.p.Config
	keys, err := d.keysOf(r.Keys)
	if err != nil {
		return err
	}
	if proto.Equal(c, old) {
		return d.all(keys, nil)
	}
	if old != nil && len(d.s.open) > 0 && (c.Repository != old.Repository || c.TargetBranch != old.TargetBranch) {
		return fault.New("project/conflict", "project %q has %d executions under way, approved for branch %s of %s", c.Id, len(d.s.open), old.TargetBranch, old.Repository).
			At("project").Want("let them end before work is to land elsewhere")
	}
	if r.AskedBy != nil && d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST {
		return fault.New("command/unauthorized", "only a host registers a project for somebody")
	}
	hadRoom := d.s.askedWithRoom(d.now, d.wall)
	if err := d.emit(&loomv1.Event{Actor: r.AskedBy, Fact: &loomv1.Event_ProjectRegistered{ProjectRegistered: &loomv1.ProjectRegistered{Config: c}}}); err != nil {
		return err
	}
	if err := d.lapseRaised(hadRoom); err != nil {
		return err
	}
	return d.all(keys, nil)
}

// CheckConfig refuses what no project can be registered with, before anybody looks at its
// repository.
func CheckConfig(c *loomv1.ProjectConfig) error {
	if _, err := subject.Parse("project", c.GetId()); err != nil {
		return err
	}
	if c.Id == System {
		return fault.New("project/invalid", "project %q is Loom's own", c.Id).At("project").Want("choose another name")
	}
	if strings.ContainsFunc(c.Repository, unicode.IsControl) {
		return fault.New("project/invalid", "project %q: the path of the repository has a line end or another control character", c.Id).At("repository").Got(c.Repository).
			Want("rename the directory")
	}
	if !filepath.IsAbs(c.Repository) {
		return fault.New("project/invalid", "project %q: repository is not an absolute path", c.Id).At("repository").Got(c.Repository)
	}
	if c.Grace != nil && (c.Grace.CheckValid() != nil || c.Grace.AsDuration() < 0) {
		return fault.New("project/invalid", "project %q: grace is less than no time", c.Id).At("grace").Got(c.Grace.AsDuration().String())
	}
	if c.Removed != nil {
		return fault.New("project/invalid", "project %q cannot be registered as removed", c.Id).At("removed")
	}
	if c.Crashes > MaxCrashes {
		return fault.New("project/invalid", "project %q: an attempt ends after %d crashes, where %d is the most", c.Id, c.Crashes, MaxCrashes).At("crashes")
	}
	if c.Train > MaxTrain {
		return fault.New("project/invalid", "project %q: a train of %d changes, where %d is the most", c.Id, c.Train, MaxTrain).At("train")
	}
	for _, b := range []*loomv1.Budget{c.Budget, c.BeadBudget, c.DayBudget} {
		if min(b.GetTokens(), b.GetMicroUsd()) < 0 || b.GetWallSeconds() != 0 {
			return fault.New("project/invalid", "project %q: a budget has tokens and money, of no less than 0", c.Id).At("budget")
		}
	}
	if err := patchscan.Policy(c.Patch).Check(); err != nil {
		return err
	}
	return fault.Join(slices.Concat(checkRoutes(c.Routes), checkGovernor(c.Governor), checkProcesses(c.Processes), checkNamespaces(c.Memory), checkOperators(c)))
}

func (d *decision) fileBead(sub *loomv1.Submission) (*loomv1.Answer, error) {
	if errs := d.checkSubmission(sub); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	key, digest := d.requestKey(sub.IdempotencyKey, sub)
	if reply, err := d.recall(key, digest); reply != nil || err != nil {
		return reply, err
	}
	kind := d.governed(nil)
	if err := d.admit(kind); err != nil {
		return nil, err
	}
	b := asked(sub)
	b.Process = d.process(sub)
	return d.file(b, filing{request: key, digest: digest, governed: kind})
}

func submitted(bead, execution string, duplicate bool) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Submit{Submit: &loomv1.SubmitReply{Bead: bead, Execution: execution, Duplicate: duplicate}}}
}

// checkSubmission returns everything that is wrong with sub at once.
func (d *decision) checkSubmission(sub *loomv1.Submission) []*fault.Error {
	if sub == nil {
		return []*fault.Error{fault.New("command/malformed", "nothing is submitted").At("submission")}
	}
	if d.s.p.Config == nil {
		return []*fault.Error{fault.New("project/unknown", "project %q is not registered on this deployment", d.s.cfg.ID).At("project")}
	}
	var errs []*fault.Error
	add := func(e *fault.Error) { errs = append(errs, e) }
	if sub.Project != "" && sub.Project != d.s.cfg.ID {
		add(fault.New("project/unknown", "submission for another project was sent to %q", d.s.cfg.ID).At("project").Got(sub.Project))
	}
	switch sub.Type {
	case loomv1.BeadType_BEAD_TYPE_UNSPECIFIED, loomv1.BeadType_BEAD_TYPE_TASK, loomv1.BeadType_BEAD_TYPE_BUG:
	default:
		add(fault.New("submit/invalid-field", "type %s cannot be submitted", sub.Type).At("type").Want("task or bug"))
	}
	if name := d.process(sub); d.s.p.Latest[name] == "" {
		add(fault.New("submit/unknown-process", "process is not known in project %q", d.s.cfg.ID).At("process").Got(name).Want("%s", d.suggestProcess(name)))
	}
	if err := d.s.ofPattern(d.process(sub)); err != nil {
		add(fault.From(err).At("process"))
	}
	b := asked(sub)
	for _, f := range changeable {
		errs = append(errs, f.check(d, b)...)
	}
	errs = append(errs, checkContext(sub.Context)...)
	errs = append(errs, d.checkParameters(d.process(sub), sub.Context, map[string]bool{})...)
	return append(errs, checkKey(sub.IdempotencyKey)...)
}

// asked returns the bead that a submission asks for.
func asked(sub *loomv1.Submission) *loomv1.Bead {
	t := sub.Type
	if t == loomv1.BeadType_BEAD_TYPE_UNSPECIFIED {
		t = loomv1.BeadType_BEAD_TYPE_TASK
	}
	b := &loomv1.Bead{Type: t, Context: sub.Context}
	set(b, &loomv1.Bead{
		Goal: sub.Goal, Description: sub.Description, Priority: sub.Priority, Deadline: sub.Deadline, Labels: sub.Labels,
		Budget: sub.Budget, Parent: sub.Parent, BlockedBy: sub.BlockedBy, Assignee: sub.Assignee, Stakeholders: sub.Stakeholders,
	})
	return b
}

// checkParameters holds a context against what a process takes, and the processes of its
// phases, to which it goes along.
func (d *decision) checkParameters(process string, context *structpb.Struct, seen map[string]bool) []*fault.Error {
	def := d.s.p.Definitions[d.s.p.Latest[process]]
	if seen[process] || def == nil {
		return nil
	}
	seen[process] = true
	errs := verify.Parameters(def, context)
	for _, n := range def.Nodes {
		if n.Process == "" {
			continue
		}
		for _, e := range d.checkParameters(n.Process, context, seen) {
			e.Message = fmt.Sprintf("%s (process %s of %s)", e.Message, n.Process, n.Id)
			errs = append(errs, e)
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
	return controlIn(structpb.NewStructValue(c), "context")
}

// controlIn refuses control characters in the names and texts of a value: they would steer
// the terminal of whoever reads it. Texts may have lines and tabs.
func controlIn(v *structpb.Value, where string) (errs []*fault.Error) {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if has := strings.IndexFunc(v.StringValue, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }); has >= 0 {
			errs = append(errs, fault.New("submit/invalid-field", "the value has a control character").At(where).Got(v.StringValue))
		}
	case *structpb.Value_ListValue:
		for i, one := range v.ListValue.GetValues() {
			errs = append(errs, controlIn(one, fmt.Sprintf("%s/%d", where, i))...)
		}
	case *structpb.Value_StructValue:
		for _, name := range slices.Sorted(maps.Keys(v.StructValue.GetFields())) {
			if strings.ContainsFunc(name, unicode.IsControl) {
				errs = append(errs, fault.New("submit/invalid-field", "the name of a value has a control character").At(where).Got(name))
				continue
			}
			errs = append(errs, controlIn(v.StructValue.Fields[name], where+"/"+name)...)
		}
	}
	return errs
}

func checkKey(key string) []*fault.Error {
	if len(key) > MaxKey {
		return []*fault.Error{fault.New("submit/invalid-field", "idempotency key has %d bytes, the most is %d", len(key), MaxKey).At("idempotency_key")}
	}
	return nil
}

// process is the process by which a submission is worked on: the one that it names,
// else its project's, else a bug's is the auto-bug workflow and a task's is feature
// work, where the project has that.
func (d *decision) process(sub *loomv1.Submission) string {
	c := d.s.p.Config
	for _, r := range c.GetProcesses() {
		if sub.Process == "" && appliesTo(r, sub) {
			return r.Process
		}
	}
	builtin := AutoBug
	if sub.Type != loomv1.BeadType_BEAD_TYPE_BUG && d.s.p.Latest[Feature] != "" {
		builtin = Feature
	}
	return first(sub.Process, first(c.GetDefaultProcess(), builtin))
}

func appliesTo(r *loomv1.ProcessRule, sub *loomv1.Submission) bool {
	bug := sub.Type == loomv1.BeadType_BEAD_TYPE_BUG
	switch r.Type {
	case loomv1.BeadType_BEAD_TYPE_BUG:
		if !bug {
			return false
		}
	case loomv1.BeadType_BEAD_TYPE_TASK:
		if bug {
			return false
		}
	}
	return r.Label == "" || slices.Contains(sub.Labels, r.Label)
}

// ParseProcess reads a rule of a project for processes: PROCESS, task=PROCESS,
// bug=PROCESS or label:LABEL=PROCESS.
func ParseProcess(s string) (*loomv1.ProcessRule, error) {
	r := &loomv1.ProcessRule{Process: s}
	if when, process, ok := strings.Cut(s, "="); ok {
		r.Process = process
		label, labelled := strings.CutPrefix(when, "label:")
		switch {
		case when == "task":
			r.Type = loomv1.BeadType_BEAD_TYPE_TASK
		case when == "bug":
			r.Type = loomv1.BeadType_BEAD_TYPE_BUG
		case labelled && label != "":
			r.Label = label
		default:
			return nil, fault.New("usage/argument", "a rule for processes is for task, bug or label:LABEL").Got(when)
		}
	}
	if _, err := subject.Parse("process", r.Process); err != nil {
		return nil, err
	}
	return r, nil
}

func checkProcesses(list []*loomv1.ProcessRule) []*fault.Error {
	for i, r := range list {
		if _, err := subject.Parse("process", r.Process); err != nil {
			return problem(fault.From(err).At(fmt.Sprintf("processes[%d]", i)))
		}
	}
	return nil
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
	return submitted(r.Id, d.s.bead(r.Id).GetExecution(), true), nil
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
