// Package conversation says how a conversation of people with a project's lead is held:
// what its settings may be, and which tools the lead has in which mode. How a turn of it
// goes on is package turn's.
//
// A conversation is a bead of its own type with one execution of a workflow that the
// runtime makes, whose one node is the lead's. What people say and what the lead answers
// are facts of the journal like those of any turn.
package conversation

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Limits, in bytes unless said otherwise.
const (
	MaxOpen   = 64      // conversations of a project that are not closed
	MaxText   = 8 << 10 // of what a person says at once
	MaxTitle  = 200
	MaxReason = 300

	// RoleTier is the tier by which a change goes back to the model of the lead's role.
	RoleTier = 4
	// RoleThinking is the word by which a change goes back to how the role reasons.
	RoleThinking = "role"
)

// Ask, Plan and Act are the modes, by their short names.
const (
	Ask  = loomv1.ConversationMode_CONVERSATION_MODE_ASK
	Plan = loomv1.ConversationMode_CONVERSATION_MODE_PLAN
	Act  = loomv1.ConversationMode_CONVERSATION_MODE_ACT
)

// The tools that only a conversation has: they begin work by a process, and tell how work
// stands.
const (
	WorkStart  = "work_start"
	WorkStatus = "work_status"
)

// without are tools of the lead that a conversation has no use for: whoever talks with
// people asks them in words, and has no end of its own.
var without = []string{"ask_user", "finish"}

// looks are the tools that read, of the project or of the world.
var looks = []string{
	"agent_list", "agent_watch", "arxiv", "content_search", "decision_query", "directory_list", "file_read", "file_search",
	"git_blame", "git_diff", "git_log", "git_show", "git_status", "lsp_diagnostics", "memory_search", "openalex", "output_read", "reference_data",
	"sub_agent", "web_feed", "web_fetch", "web_search", "wikipedia", WorkStatus,
}

// notes are the tools that keep what was thought, and begin nothing.
var notes = []string{"calculator", "comparison_matrix", "decision_ballot", "decision_log", "decision_vote", "memory_keep", "todo"}

// Allows says whether the lead may call a tool in a mode. Act has all that its role has.
func Allows(mode loomv1.ConversationMode, tool string) bool {
	switch mode {
	case Ask:
		return slices.Contains(looks, tool)
	case Plan:
		return slices.Contains(looks, tool) || slices.Contains(notes, tool)
	}
	return true
}

// Tools are what the lead of a conversation has, of all that its role has.
func Tools(role []string) []string {
	list := slices.DeleteFunc(slices.Clone(role), func(t string) bool { return slices.Contains(without, t) })
	for _, own := range []string{WorkStart, WorkStatus} {
		if !slices.Contains(list, own) {
			list = append(list, own)
		}
	}
	return list
}

// Denied is the refusal of a tool in a mode.
func Denied(mode loomv1.ConversationMode, tool string) error {
	return fault.New("conversation/mode", "in the mode %s the lead has no %s", Word(mode), tool).At("tool").Got(Word(mode)).
		Want("a person says \"/mode %s\" to have it", Word(least(tool)))
}

// least is the first mode that has a tool.
func least(tool string) loomv1.ConversationMode {
	if Allows(Plan, tool) {
		return Plan
	}
	return Act
}

// Word is a mode as people write it.
func Word(m loomv1.ConversationMode) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "CONVERSATION_MODE_"))
}

// Mode reads a mode.
func Mode(word string) (loomv1.ConversationMode, error) {
	modes := []loomv1.ConversationMode{Ask, Plan, Act}
	var words []string
	for _, m := range modes {
		if Word(m) == word {
			return m, nil
		}
		words = append(words, Word(m))
	}
	return 0, fault.New("usage/argument", "there is no such mode").At("mode").Got(word).Want("%s", suggest.Among(word, words))
}

// Begin returns the settings that a conversation begins with.
func Begin(s *loomv1.ConversationSettings) (*loomv1.ConversationSettings, error) {
	return Change(&loomv1.ConversationSettings{Mode: Act}, s)
}

// Change returns settings after a change, which names what is to be different. It refuses
// with conversation/invalid, and keeps no reference to what it was given.
func Change(old, change *loomv1.ConversationSettings) (*loomv1.ConversationSettings, error) {
	next := proto.CloneOf(old)
	var errs []*fault.Error
	if t := strings.Join(strings.Fields(change.GetTitle()), " "); t != "" {
		next.Title = t
	}
	if t := change.GetTitle(); len(t) > MaxTitle || strings.ContainsFunc(t, unicode.IsControl) {
		errs = append(errs, fault.New("conversation/invalid", "a title is a line of at most %d bytes", MaxTitle).At("title"))
	}
	switch m := change.GetMode(); m {
	case loomv1.ConversationMode_CONVERSATION_MODE_UNSPECIFIED:
	case Ask, Plan, Act:
		next.Mode = m
	default:
		errs = append(errs, fault.New("conversation/invalid", "there is no mode %d", m).At("mode").Want("ask, plan or act"))
	}
	switch t := change.GetModelTier(); {
	case t == RoleTier:
		next.ModelTier = 0
	case t > RoleTier:
		errs = append(errs, fault.New("conversation/invalid", "there is no tier %d of models", t).At("model_tier").Want("1, 2 or 3, or %d for that of the role", RoleTier))
	case t > 0:
		next.ModelTier = t
	}
	switch t := change.GetThinking(); {
	case t == RoleThinking:
		next.Thinking = ""
	case t != "":
		if _, _, err := Thinking(t); err != nil {
			errs = append(errs, fault.From(err))
		}
		next.Thinking = t
	}
	if p := change.GetProcess(); p != "" {
		next.Process = p
	}
	return next, fault.Join(errs)
}

// Thinking reads how the lead's model is to reason: a word for how much, or the tokens that
// there are for it. It refuses with conversation/invalid.
func Thinking(t string) (effort string, tokens int, err error) {
	if slices.Contains(roles.Efforts(), t) {
		return t, 0, nil
	}
	if n, err := strconv.Atoi(t); err == nil && n >= roles.MinThinking && n <= roles.MaxThinking && strconv.Itoa(n) == t {
		return "", n, nil
	}
	return "", 0, fault.New("conversation/invalid", "no way to reason").At("thinking").Got(t).
		Want("%s, %s, or %d to %d tokens", strings.Join(roles.Efforts(), ", "), RoleThinking, roles.MinThinking, roles.MaxThinking)
}

// CheckText refuses what is nothing to say, or too much.
func CheckText(text string) error {
	if strings.TrimSpace(text) == "" || len(text) > MaxText {
		return fault.New("say/invalid", "a message has %d bytes", len(text)).At("text").Want("1 to %d bytes; a file of the project is named, and read by the lead", MaxText)
	}
	return nil
}
