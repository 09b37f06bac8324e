package processes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Write returns a definition as a process file. [Parse] makes the same
// definition of it, with the same [Hash], if the definition is one that
// [Validate] has nothing against and as [Complete] leaves it.
func Write(def *loomv1.Definition) []byte {
	w := &writer{}
	w.line("name: %s", plain(def.Name))
	w.line("version: %s", strconv.Quote(def.Version))
	w.text("description", def.Description)
	w.key("metadata", fields(def.Metadata))
	w.guide(def.Guide)
	w.blueprint(def.Blueprint)
	w.key("toolkit", plain(def.Toolkit))
	w.checkout(def.Checkout)
	w.parameters(def.Parameters)
	w.line("")
	w.line("nodes:")
	for i, n := range def.Nodes {
		if i > 0 {
			w.line("")
		}
		w.node(n)
	}
	w.line("")
	w.line("edges:%s", map[bool]string{true: " []"}[len(def.Edges) == 0])
	for _, e := range def.Edges {
		w.edge(e)
	}
	return []byte(w.b.String())
}

type writer struct {
	b      strings.Builder
	indent string
}

func (w *writer) line(format string, args ...any) {
	if format != "" {
		w.b.WriteString(w.indent)
		fmt.Fprintf(&w.b, format, args...)
	}
	w.b.WriteByte('\n')
}

// key writes a key and its value where there is one.
func (w *writer) key(key, value string) {
	if value != "" {
		w.line("%s: %s", key, value)
	}
}

// text writes a text for people: several lines of it as such.
func (w *writer) text(key, text string) {
	if !strings.Contains(text, "\n") || !blockable(text) {
		w.key(key, plain(text))
		return
	}
	w.line("%s: |-", key)
	for l := range strings.SplitSeq(text, "\n") {
		if l == "" {
			w.line("")
			continue
		}
		w.line("  %s", l)
	}
}

func (w *writer) node(n *loomv1.NodeDefinition) {
	w.line("  - id: %s", plain(n.Id))
	w.indent = "    "
	w.key("type", nodeTypes.word(n.Type))
	w.key("role", plain(n.Role))
	w.key("roles_any", list(n.RolesAny))
	w.key("role_from", plain(n.RoleFrom))
	w.key("process", plain(n.Process))
	w.text("persona", n.Persona)
	w.phase(n.Phase)
	w.gate(n.Gate)
	if n.MaxAttempts > 0 {
		w.line("max_attempts: %d", n.MaxAttempts)
	}
	w.key("timeout", span(n.Timeout))
	if b := n.Backoff; b != nil {
		w.line("backoff: {initial: %s, limit: %s}", span(b.Initial), span(b.Limit))
	}
	if m := n.Memory; m != nil {
		w.line("memory: {read: [%s], write: [%s]}", strings.Join(m.Read, ", "), strings.Join(m.Write, ", "))
	}
	w.key("outcome", fields(n.Outcome))
	if n.Criticality != 0 {
		w.line("critical: %t", n.Criticality != optional)
	}
	if n.Keys != 0 {
		w.line("keys: %d", n.Keys)
	}
	if n.Detached {
		w.line("detached: true")
	}
	w.onFailure(n.OnFailure)
	if n.FailureEdgeAfterAttempts {
		w.line("failure_edge: after_attempts")
	}
	if n.Kind != 0 {
		w.line("config: {kind: %s}", nodeKinds.word(n.Kind))
	}
	if n.MultiDispatch {
		w.line("config: {multi_dispatch: true}") // a kind is never multi_dispatch
	}
	w.text("description", n.Description)
	w.indent = ""
}

func (w *writer) gate(g *loomv1.Gate) {
	if g == nil {
		return
	}
	w.line("gate:")
	w.line("  condition: %s", plain(g.Condition))
	w.line("  on_failure: %s", gateActions.word(g.OnFailure))
	if g.OnFailure == replan {
		w.line("  to: %s", plain(g.To))
		w.line("  max: %d", g.Max)
	}
	if g.Passes {
		w.line("  passes: true")
	}
}

func (w *writer) onFailure(p *loomv1.FailurePolicy) {
	if p == nil {
		return
	}
	w.line("on_failure:")
	w.line("  max: %d", p.Max)
	w.line("  rework:")
	for _, r := range p.Rework {
		w.line("    - {to: %s%s}", plain(r.To), also("when", r.When))
	}
}

func (w *writer) edge(e *loomv1.EdgeDefinition) {
	outcome := ""
	if e.Outcome == failure {
		outcome = edgeOutcomes.word(failure)
	}
	w.line("  - {id: %s, from: %s, to: %s%s%s}", plain(e.Id), plain(e.From), plain(e.To), also("outcome", outcome), also("condition", e.Condition))
}

func also(key, value string) string {
	if value == "" {
		return ""
	}
	return ", " + key + ": " + plain(value)
}

func list(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = plain(word)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func fields(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, plain(name)+": "+plain(m[name]))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// span writes a duration as people do: 10m and not 10m0s.
func span(d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	t := d.AsDuration()
	s := t.String()
	if t >= time.Minute && strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if t >= time.Hour && strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var (
	bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	// taken are bare words that YAML reads as something else than text.
	taken = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// plain writes a string so that YAML reads the same string: as it is where
// that is a word, in single quotes where that reads best, else escaped.
func plain(s string) string {
	switch {
	case s == "":
		return ""
	case bare.MatchString(s) && !slices.Contains(taken, strings.ToLower(s)):
		return s
	case strings.Contains(s, `"`) && !strings.Contains(s, "'") && !strings.ContainsFunc(s, unprintable):
		return "'" + s + "'"
	}
	return strconv.Quote(s)
}

// unprintable says whether YAML may read a character as something else, or not
// at all.
func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// blockable says whether a text can stand as it is, below its key.
func blockable(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && unprintable(r) })
}
