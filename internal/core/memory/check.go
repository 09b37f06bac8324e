package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// BuiltinTypes are the types that every project has, sorted.
var BuiltinTypes = []string{
	"artifact", "assumption", "constraint", "context", "decision", "dependency", "discovery", "error", "feedback", "metric",
	"model_failure", "pattern", "preference", "risk", "task_template", "tool_result",
}

// AbortType is the type of the record of an abort. It is for people and statistics: no attempt
// is offered one, or finds one, that does not ask for the type.
const AbortType = "pattern_abort"

// claims are the types whose entries can contradict each other: the others tell what
// happened at a time.
var claims = map[string]bool{
	"assumption": true, "constraint": true, "context": true, "decision": true, "dependency": true, "discovery": true,
	"feedback": true, "preference": true, "risk": true,
}

var (
	typeName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	tagName   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	namespace = regexp.MustCompile(`^shared/[a-z0-9][a-z0-9-]{0,39}$`)
)

// CheckNamespace refuses what is no name of a shared namespace.
func CheckNamespace(ns string) *fault.Error {
	if !namespace.MatchString(ns) {
		return fault.New("memory/invalid", "a shared namespace is %sNAME, NAME of 1 to 40 of a-z, 0-9 and -", shared).Got(ns)
	}
	return nil
}

// IsPlace says whether a word is one of [loomv1.MemoryAccess].
func IsPlace(word string) bool {
	return word == Session || word == Project || namespace.MatchString(word)
}

// checkContent says all that is wrong with what an entry says.
func checkContent(e *loomv1.MemoryEntry) (problems []*fault.Error) {
	bad := func(where, got, format string, args ...any) {
		problems = append(problems, fault.New("memory/invalid", format, args...).At("/entry/"+where).Got(got))
	}
	switch {
	case strings.TrimSpace(e.GetText()) == "":
		bad("text", "", "an entry says something")
	case len(e.Text) > MaxText:
		bad("text", "", "%d bytes where %d are the most; keep the whole of it as a detail", len(e.Text), MaxText)
	case !utf8.ValidString(e.Text) || strings.ContainsRune(e.Text, 0):
		bad("text", "", "a text is UTF-8 without NUL")
	}
	if !typeName.MatchString(e.GetType()) {
		bad("type", e.GetType(), "a type is 1 to 32 of a-z, 0-9 and _, and begins with a letter")
	}
	if e.GetNamespace() != "" && !namespace.MatchString(e.Namespace) {
		bad("namespace", e.Namespace, "a namespace is empty or %sNAME, NAME of 1 to 40 of a-z, 0-9 and -", shared)
	}
	if len(e.GetTags()) > maxTags {
		bad("tags", "", "%d tags where %d are the most", len(e.Tags), maxTags)
	}
	for i, tag := range e.GetTags() {
		if !tagName.MatchString(tag) {
			bad(fmt.Sprintf("tags/%d", i), tag, "a tag is 1 to 64 of a-z, 0-9, ., _ and -, and begins with a letter or digit")
		}
	}
	if len(e.GetSources()) > maxSources {
		bad("sources", "", "%d sources where %d are the most", len(e.Sources), maxSources)
	}
	for i, s := range e.GetSources() {
		if problem := sourceProblem(s); problem != "" {
			bad(fmt.Sprintf("sources/%d", i), "", "%s", problem)
		}
	}
	if e.GetConfidence() > 100 {
		bad("confidence", fmt.Sprint(e.Confidence), "a confidence is 0 to 100")
	}
	if len(e.GetReason()) > MaxReason || !utf8.ValidString(e.GetReason()) {
		bad("reason", "", "a reason is UTF-8 of at most %d bytes", MaxReason)
	}
	return problems
}

func sourceProblem(s *loomv1.MemorySource) string {
	fields := []string{s.GetFile(), s.GetAddress(), s.GetDecision(), s.GetAttempt(), s.GetApproval()}
	for i, most := range []int{300, 2000, 64, 200, 200} {
		switch {
		case len(fields[i]) > most:
			return fmt.Sprintf("a source with %d bytes where %d are the most", len(fields[i]), most)
		case !utf8.ValidString(fields[i]):
			return "a source is UTF-8"
		}
	}
	if strings.Join(fields, "") == "" {
		return "a source names a file, an address, a decision, an attempt or an approval"
	}
	return ""
}

// checkType refuses a type that is neither built in nor one of the process.
func checkType(t string, own []string) *fault.Error {
	if slices.Contains(BuiltinTypes, t) || slices.Contains(own, t) {
		return nil
	}
	known := slices.Concat(BuiltinTypes, own)
	return fault.New("memory/type", "there is no such type of memory here").At("/entry/type").Got(t).Want("one of %s", strings.Join(known, ", "))
}

// checkStored refuses what cannot be in a state.
func checkStored(e *loomv1.MemoryEntry) *fault.Error {
	switch {
	case e.Status < active || e.Status > forgotten:
		return wrong("%s has the status %d", e.Id, e.Status)
	case e.Layer < session || e.Layer > durable:
		return wrong("%s has the layer %d", e.Id, e.Layer)
	case e.Trust < untrusted || e.Trust > ofPerson:
		return wrong("%s has the trust %d", e.Id, e.Trust)
	case e.Layer == session && e.Execution == "":
		return wrong("%s is of a session without an execution", e.Id)
	case e.Count == 0:
		return wrong("%s was never said", e.Id)
	case len(e.Contradicts) > maxLinks:
		return wrong("%s contradicts %d entries", e.Id, len(e.Contradicts))
	case !counts(e) && e.Text != "":
		return wrong("%s is gone and has a text", e.Id)
	case !counts(e):
		return nil
	}
	if problems := checkContent(e); len(problems) > 0 {
		return wrong("%s", e.Id).Because(problems[0])
	}
	return nil
}
