package processes

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/suggest"
)

// placedHook is a hook and where it stands.
type placedHook struct {
	*hookFile
	when string // the key of its list
	n    int
}

func (h placedHook) at(key ...any) []any {
	return append([]any{"hooks", h.when, h.n}, key...)
}

// allHooks returns all hooks, by when they run.
func (d *draft) allHooks() (all []placedHook) {
	for _, list := range []struct {
		when  string
		hooks []hookFile
	}{
		{"before_plan", d.Hooks.BeforePlan},
		{"after_plan", d.Hooks.AfterPlan},
		{"between_phases", d.Hooks.BetweenPhases},
		{"after_complete", d.Hooks.AfterComplete},
	} {
		for i := range list.hooks {
			all = append(all, placedHook{&list.hooks[i], list.when, i})
		}
	}
	return all
}

// hookTexts says of each hook when it runs and what it does.
func (d *draft) hookTexts() (list []string) {
	for _, h := range d.allHooks() {
		when, does := h.when, strings.TrimSpace(h.Action)
		if len(h.After) > 0 {
			when += " after " + strings.Join(h.After, ", ")
		}
		switch {
		case h.Approve != "":
			does = "ask the CEO: " + strings.TrimSpace(h.Approve)
		case h.Check != "":
			does = orElse(h.Action, hookActions[0]) + " unless " + strings.TrimSpace(h.Check)
		}
		list = append(list, when+": "+does)
	}
	return list
}

// What happens when a hook's check does not hold.
var hookActions = []string{"warn", "block", "fail"}

func (d *draft) hook(h placedHook) {
	checks, asks := strings.TrimSpace(h.Check) != "", strings.TrimSpace(h.Approve) != ""
	does := strings.TrimSpace(h.Action) != "" && !checks
	switch {
	case !checks && !asks && !does:
		d.refuse("process/hook", h.at(), "the hook does nothing").Want("give check and action, or action, or approve")
	case asks && (checks || does):
		d.refuse("process/hook", h.at("approve"), "the hook asks the CEO and does something else").Want("make two hooks of it")
	case checks && h.Action != "" && !slices.Contains(hookActions, h.Action):
		d.refuse("process/hook", h.at("action"), "what happens when a check does not hold is none of this").Got(h.Action).
			Want("%s", suggest.Among(h.Action, hookActions))
	case does && slices.Contains(hookActions, h.Action):
		d.refuse("process/hook", h.at("action"), "the hook would %s, but checks nothing", h.Action)
	}
	if !does && len(h.Deliverables) > 0 {
		d.refuse("process/hook", h.at("deliverables"), "only a hook that does something delivers")
	}
	d.tier(h.ModelTier, h.at("model_tier")...)
	if h.when != "between_phases" && len(h.After) > 0 {
		d.refuse("process/hook", h.at("after"), "only hooks between phases come after phases")
	}
	for i, id := range h.After {
		if d.first(id) < 0 {
			d.refuse("process/hook", h.at("after", i), "there is no phase %q", id).Want("%s", suggest.Among(id, d.ids()))
		} else if d.Phases[d.first(id)].Detached {
			d.refuse("process/hook", h.at("after", i), "phase %q is detached: it is done after the end, and nothing waits for it", id)
		}
	}
}
