package reading

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// CheckQuery refuses a query with an id that cannot be one, or without a
// project where none is meant. A definition's id may go on with "@" and the
// beginning of a hash.
func CheckQuery(v project.View, q *loomv1.Query) error {
	if q.Project == "" {
		return errNoProject()
	}
	id := q.Id
	if name, hash, ok := strings.Cut(id, "@"); ok && v == project.Definitions {
		if id = name; hash == "" || strings.Trim(hash, "0123456789abcdef") != "" {
			return fault.New("id/malformed", "not the beginning of a hash").At("id").Got(hash).Want("1 to 64 of 0-9 and a-f")
		}
	}
	return CheckIDs(map[string]string{
		"project": q.Project, "id": id, "parent": q.Parent, "after": q.After, "process": q.Process, "assignee": q.Assignee,
	})
}

// paged are the views whose lists go on after an id.
var paged = []project.View{project.Beads, project.Executions, project.Inbox, project.Memories, project.Sessions, project.Talks}

// CheckPage refuses a page that no list has: more than [project.MaxListed] entries, a
// filter that nothing would match, and an id to list on after that can be none of the
// list's.
func CheckPage(v project.View, q *loomv1.Query) error {
	if q.Limit > project.MaxListed {
		return fault.New("request/parameter", "not a number that a list can have").At("limit").Got(strconv.FormatUint(uint64(q.Limit), 10)).Want("1 to %d", project.MaxListed)
	}
	if words := filters(v); words != nil && q.Filter != "" && !slices.Contains(words, q.Filter) {
		return fault.New("request/parameter", "no such filter").At("filter").Got(q.Filter).Want("%s", suggest.Among(q.Filter, words))
	}
	if q.After == "" || v == project.Memories || v == project.Sessions { // whose ids name no project
		return nil
	}
	if _, err := subject.Parse("after", q.After); err != nil {
		return err
	}
	owner := project.Of(q.After)
	switch {
	case !slices.Contains(paged, v):
		return fault.New("request/parameter", "this list has no pages").At("after").Got(q.After)
	case owner == "":
		return fault.New("request/parameter", "not an id to list on after").At("after").Got(q.After).Want("the last id of the page before, as in shop-12")
	case q.Project != "" && owner != q.Project:
		return fault.New("request/parameter", "an id of another project than %q", q.Project).At("after").Got(q.After)
	}
	return nil
}

// filters are the words that a view can be filtered by; nil for a view that checks them
// itself.
func filters(v project.View) (words []string) {
	switch v {
	case project.Beads:
		for i := int32(1); loomv1.BeadStatus_name[i] != ""; i++ {
			words = append(words, project.Word(loomv1.BeadStatus(i)))
		}
		words = append(words, project.WorkStates...)
	case project.Executions:
		for i := int32(1); loomv1.ExecutionStatus_name[i] != ""; i++ {
			words = append(words, project.Word(loomv1.ExecutionStatus(i)))
		}
	case project.Inbox:
		words = append([]string{"all"}, project.WaitKinds()...)
	case project.Graph:
		for i := int32(1); loomv1.DecisionType_name[i] != ""; i++ {
			words = append(words, project.Word(loomv1.DecisionType(i)))
		}
	case project.Talks:
		words = []string{"open", "closed"}
	}
	return words
}

// CheckIDs refuses ids that cannot be; an empty one means that none was given.
func CheckIDs(ids map[string]string) error {
	for _, name := range []string{"project", "bead", "execution", "id", "parent", "after", "process", "assignee", "team", "agent", "host"} {
		if id := ids[name]; id != "" {
			if _, err := subject.Parse(name, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFilters refuses a cursor that cannot be, and kinds and times that nothing
// would ever match.
func checkFilters(q *loomv1.NoticesRequest) error {
	if len(q.GetAfter().GetPositions()) > 0 {
		if _, err := notice.ParseCursor(notice.FormatCursor(q.After)); err != nil {
			return fault.From(err).At("after")
		}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(notice.Kinds(), kind) {
			return fault.New("usage/argument", "no such kind of notice").At("kinds").Got(kind).Want("%s", suggest.Among(kind, notice.Kinds()))
		}
	}
	if q.Since != nil && q.Since.CheckValid() != nil {
		return fault.New("usage/argument", "not a time").At("since")
	}
	return nil
}
