package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The verdicts, by their short names.
const (
	Allow = loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW
	Ask   = loomv1.PermissionVerdict_PERMISSION_VERDICT_ASK
	Deny  = loomv1.PermissionVerdict_PERMISSION_VERDICT_DENY
)

// MaxPattern is the longest pattern, in bytes.
const MaxPattern = 512

// maxName is the longest name of a role or tool.
const maxName = 128

// Check refuses, with permission/invalid, a permission that makes no sense.
func Check(p *loomv1.Permission) error {
	refuse := func(where, format string, args ...any) *fault.Error {
		return fault.New("permission/invalid", format, args...).At(where)
	}
	switch v := p.GetVerdict(); {
	case v != Allow && v != Ask && v != Deny:
		return refuse("verdict", "a permission says nothing").Want("allow, ask or deny")
	case !name(p.Role):
		return refuse("role", "it is no name of a role").Got(p.Role)
	case !name(p.Tool):
		return refuse("tool", "it is no name of a tool").Got(p.Tool)
	case len(p.Pattern) > MaxPattern || !utf8.ValidString(p.Pattern) || !doublestar.ValidatePattern(p.Pattern):
		return refuse("pattern", "it is no glob of at most %d bytes", MaxPattern).Got(p.Pattern).Want(`for example "internal/**" or "go test *"`)
	case v == Allow && p.Role == "" && p.Tool == "" && p.Pattern == "":
		return refuse("tool", "a permission of everything to everybody").Want("name a role, a tool or a pattern")
	}
	return nil
}

// name says whether s is empty or can be the name of a role or tool.
func name(s string) bool {
	return len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Of returns what holds for a call of a tool by a role, and the permission that
// says so; nil where none does, and the role's own word holds: ask says that it
// asks.
func Of(all []*loomv1.Permission, role string, call *loomv1.ToolCall, ask bool) (loomv1.PermissionVerdict, *loomv1.Permission) {
	verdict, by := Allow, (*loomv1.Permission)(nil)
	if ask {
		verdict = Ask
	}
	var about []Subject
	for i, p := range all {
		if p.Role != "" && p.Role != role || p.Tool != "" && p.Tool != call.GetTool() {
			continue
		}
		if about == nil && p.Pattern != "" {
			about = Subjects(call)
		}
		if !matches(p, about) {
			continue
		}
		if p.Verdict == Deny {
			return Deny, all[i]
		}
		verdict, by = p.Verdict, all[i]
	}
	return verdict, by
}

// Concerns returns the permissions that can be about a role.
func Concerns(all []*loomv1.Permission, role string) []*loomv1.Permission {
	var list []*loomv1.Permission
	for _, p := range all {
		if p.Role == "" || p.Role == role {
			list = append(list, p)
		}
	}
	return list
}

func matches(p *loomv1.Permission, about []Subject) bool {
	if p.Pattern == "" {
		return true
	}
	if p.Verdict != Allow {
		for _, s := range about {
			if s.matches(p.Pattern) {
				return true
			}
		}
		return false
	}
	for _, s := range about {
		if !s.matches(p.Pattern) || s.many(p.Pattern) {
			return false
		}
	}
	return len(about) > 0
}

// Subject is one thing that a call is about.
type Subject struct {
	// Text is a path from the root of the workspace, cleaned, or a command, an
	// address, a question as it was given.
	Text string
	// Path says which of them it is.
	Path bool
}

// matches says whether a pattern is about the subject: of a path its elements,
// with ** for any number of them; of other text all of it, with * for any run
// of characters.
func (s Subject) matches(pattern string) bool {
	if s.Path {
		return doublestar.MatchUnvalidated(path.Clean(pattern), s.Text)
	}
	return wild(pattern, s.Text)
}

// many says whether a command might be more than the one that a pattern with
// wildcards was meant for: the shell takes it apart.
func (s Subject) many(pattern string) bool {
	return !s.Path && strings.ContainsAny(pattern, "*?") && strings.ContainsAny(s.Text, ";&|<>$`()\n\r")
}

// wild matches * with any run of characters, ? with one, and a backslash with
// the character after it.
func wild(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from, p = p, t, p+1
			continue
		case p+1 < len(pattern) && pattern[p] == '\\' && pattern[p+1] == text[t]:
			p, t = p+2, t+1
			continue
		case p < len(pattern) && pattern[p] == '?':
			_, n := utf8.DecodeRuneInString(text[t:])
			p, t = p+1, t+n
			continue
		case p < len(pattern) && pattern[p] != '\\' && pattern[p] == text[t]:
			p, t = p+1, t+1
			continue
		case star < 0:
			return false
		}
		from++
		p, t = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Exactly returns the pattern that matches a subject and nothing else, and false
// if it would be too long.
func Exactly(s Subject) (string, bool) {
	var b strings.Builder
	for _, c := range []byte(s.Text) {
		if strings.IndexByte(`*?[]{}\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String(), b.Len() <= MaxPattern
}

// Digest tells calls apart by tool and arguments, in lower-case hex.
func Digest(call *loomv1.ToolCall) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(call.GetTool())) + " " + call.GetTool() + call.GetArguments()))
	return hex.EncodeToString(sum[:])
}
