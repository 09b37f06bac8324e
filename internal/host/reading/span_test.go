package reading

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shelves are projects with so many entries, m1 and so on, and d1 and so on; one with less
// than none is quarantined.
type shelves map[string]int

func (s shelves) Look(_ context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	n, page := s[q.Project], &loomv1.View{}
	number := 0
	if n < 0 {
		return nil, quarantine(q.Project)
	}
	_, _ = fmt.Sscanf(q.Id, "m%d", &number)
	switch {
	case v == project.Inbox:
		page.Waiting = uint32(n)
	case v == project.Projects:
		page.Projects = []*loomv1.ProjectConfig{{Id: q.Project}}
	case v != project.Memories:
		page.Graph, page.Number = &loomv1.DecisionGraph{}, uint64(n)
	case q.Id != "" && (number < 1 || number > n):
		return nil, fault.New("memory/unknown", "project %q remembers no such entry", q.Project)
	case q.Id != "":
		page.Memories = []*loomv1.MemoryEntry{{Id: q.Id, Text: q.Project}}
	case q.Text != "":
		page.Found = &loomv1.MemoryContext{}
		for i := range n {
			e := &loomv1.MemoryEntry{Id: fmt.Sprintf("m%d", i+1)}
			page.Found.Items = append(page.Found.Items, &loomv1.MemoryItem{Entry: e, Score: float64(10*(n-i) + len(q.Project)), Tokens: 1})
			page.Memories = append(page.Memories, e)
		}
	case q.Filter == project.OfOffers:
		after := n + 1
		_, _ = fmt.Sscanf(q.After, q.Project+"-%d-x1-a1", &after)
		for i := after - 1; i > 0; i-- {
			if len(page.Offers) == int(stdcmp.Or(q.Limit, 100)) {
				page.Next = page.Offers[len(page.Offers)-1].Attempt
				break
			}
			page.Offers = append(page.Offers, &loomv1.MemoryOffer{Attempt: fmt.Sprintf("%s-%d-x1-a1", q.Project, i)})
		}
	default:
		after := n + 1
		_, _ = fmt.Sscanf(q.After, "m%d", &after)
		for i := after - 1; i > 0; i-- {
			if len(page.Memories) == int(stdcmp.Or(q.Limit, 100)) {
				page.Next = page.Memories[len(page.Memories)-1].Id
				break
			}
			page.Memories = append(page.Memories, &loomv1.MemoryEntry{Id: fmt.Sprintf("m%d", i)})
		}
	}
	return page, nil
}

func (s shelves) Ask(_ context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	number := 0
	if s[q.Project] < 0 {
		return nil, quarantine(q.Project)
	}
	if _, err := fmt.Sscanf(q.Id, "d%d", &number); err == nil && number > s[q.Project] {
		return nil, fault.New("graph/unknown-node", "there is no such decision")
	}
	return &loomv1.GraphReply{Graph: &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{{Id: "d1", Title: q.Project}}}, Number: uint64(s[q.Project])}, nil
}

func quarantine(id string) error {
	return fault.New("project/quarantined", "project %q cannot be replayed and is set aside", id)
}

func (s shelves) projects() *registry.Projects {
	p := &registry.Projects{}
	for id := range s {
		p.Add(id)
	}
	return p
}

func (s shelves) views() *Views { return &Views{States: s, Projects: s.projects()} }

// A list of entries that several projects remember goes on from page to page through all.
func TestMEM05_AListSpansTheProjects(t *testing.T) {
	views := shelves{"bank": 3, "desk": 0, "shop": 2}.views()
	for limit := range uint32(7) {
		var got []string
		for q := (&loomv1.Query{Limit: limit}); ; {
			page, err := views.Answer(t.Context(), project.Memories, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Memories {
				got = append(got, e.Project+"/"+e.Id)
			}
			if q = (&loomv1.Query{Limit: limit, After: page.Next}); page.Next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"bank/m3", "bank/m2", "bank/m1", "shop/m2", "shop/m1"}, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	page, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{}, []string{"shop"})
	if err != nil || len(page.Memories) != 2 {
		t.Errorf("whoever may read shop alone is shown %v, %v", page.GetMemories(), err)
	}
	page, err = views.Answer(t.Context(), project.Memories, &loomv1.Query{Project: "bank", After: "bank/m2"}, nil)
	if err != nil || len(page.Memories) != 1 {
		t.Errorf("after an entry of the project that is named: %v, %v", page.GetMemories(), err)
	}
	if _, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{After: "m2"}, nil); fault.Code(err) != "project/unknown" {
		t.Errorf("after an entry of nobody knows whom: %v", err)
	}
}

func TestMEM05_TheBestOfAllProjectsIsFound(t *testing.T) {
	page, err := shelves{"bank": 2, "exchange": 2}.views().Answer(t.Context(), project.Memories, &loomv1.Query{Text: "rates", Limit: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Memories {
		got = append(got, e.Project+"/"+e.Id)
	}
	if diff := cmp.Diff([]string{"exchange/m1", "bank/m1", "exchange/m2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if page.Found.LeftOut != 1 || page.Found.Tokens < uint32(len(page.Found.Text)/4) || !strings.HasPrefix(page.Found.Text, "exchange/m1 ") {
		t.Errorf("found %v, want lines with their project, their tokens, and one left out", page.Found)
	}
}

// What several memories found fits the tokens that one would have, with their names.
func TestMEM05_WhatIsFoundInAllProjectsFitsTheTokens(t *testing.T) {
	all := shelves{"bank": 3, "exchange": 3}.views()
	for _, tokens := range []uint32{1, 10, 20, 30, 1000} {
		page, err := all.Answer(t.Context(), project.Memories, &loomv1.Query{Text: "rates", Tokens: tokens}, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, sum := page.Found, uint32(0)
		for _, item := range found.Items {
			sum += item.Tokens
		}
		if found.Tokens > tokens || sum != found.Tokens || uint32(len(found.Text)) > 4*tokens || len(found.Items)+int(found.LeftOut) != 6 || len(page.Memories) != len(found.Items) {
			t.Errorf("within %d tokens: %v", tokens, found)
		}
		if tokens == 1000 && found.LeftOut != 0 || tokens == 20 && len(found.Items) == 0 {
			t.Errorf("within %d tokens %d are left out", tokens, found.LeftOut)
		}
	}
}

// Of what attempts were offered in several projects nothing is left out without a word.
func TestMEM05_OffersOfAllProjectsAreListed(t *testing.T) {
	views := shelves{"bank": 3, "desk": 0, "shop": 2}.views()
	for limit := range uint32(7) {
		var got []string
		for q := (&loomv1.Query{Filter: project.OfOffers, Limit: limit}); ; {
			page, err := views.Answer(t.Context(), project.Memories, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page.Offers {
				got = append(got, o.Attempt)
			}
			if q = (&loomv1.Query{Filter: project.OfOffers, Limit: limit, After: page.Next}); page.Next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"bank-3-x1-a1", "bank-2-x1-a1", "bank-1-x1-a1", "shop-2-x1-a1", "shop-1-x1-a1"}, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
}

// What one project alone has is found without its name; what several have is refused,
// and says which.
func TestMEM05_AnEntryIsFoundInItsProject(t *testing.T) {
	views := shelves{"bank": 3, "shop": 2}.views()
	page, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{Id: "m3"}, nil)
	if err != nil || page.Memories[0].Text != "bank" {
		t.Errorf("m3: %v, %v, want that of bank", page.GetMemories(), err)
	}
	for id, want := range map[string]string{"m2": "no project is named, and bank and shop have it", "m4": "none of bank, shop has it"} {
		if _, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{Id: id}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	for _, v := range []project.View{project.Beads, project.Executions, project.Inbox, project.Talks, project.Graph} {
		if _, err := views.Answer(t.Context(), v, &loomv1.Query{Id: "nonsense"}, nil); fault.Code(err) != "id/malformed" {
			t.Errorf("%s of nonsense: %v, want id/malformed", v, err)
		}
	}
	page, err = views.Answer(t.Context(), project.Memories, &loomv1.Query{Id: "m2"}, []string{"shop"})
	if err != nil || page.Memories[0].Text != "shop" {
		t.Errorf("m2 for whoever may read shop alone: %v, %v", page.GetMemories(), err)
	}
}

func TestGRAPH03_AQuestionIsToAllProjectsOrToTheOneThatHasTheDecision(t *testing.T) {
	s := shelves{"bank": 3, "shop": 2}
	g := &Graphs{States: s, Projects: s.projects()}
	reply, err := g.AskFor(t.Context(), &loomv1.GraphRequest{}, nil)
	if err != nil || len(reply.Parts) != 2 || reply.Parts[0].Project != "bank" || reply.Parts[1].Graph.Nodes[0].Title != "shop" || reply.Graph != nil {
		t.Errorf("all: %v, %v", reply, err)
	}
	around := loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD
	reply, err = g.AskFor(t.Context(), &loomv1.GraphRequest{Question: around, Id: "d3"}, nil)
	if err != nil || reply.Project != "bank" || reply.Number != 3 || len(reply.Parts) != 0 {
		t.Errorf("around d3: %v, %v", reply, err)
	}
	for _, q := range []*loomv1.GraphRequest{
		{Question: around, Id: "d2"}, {At: 7}, {Question: loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT},
	} {
		if _, err := g.AskFor(t.Context(), q, nil); fault.Code(err) != "project/unknown" {
			t.Errorf("%v: %v, want project/unknown", q, err)
		}
	}
	if _, err := g.AskFor(t.Context(), &loomv1.GraphRequest{Question: around, Id: "d4"}, nil); fault.Code(err) != "graph/unknown-node" {
		t.Errorf("around d4: %v, want graph/unknown-node", err)
	}
	reply, err = g.AskFor(t.Context(), &loomv1.GraphRequest{Bead: "shop-1"}, nil)
	if err != nil || reply.Graph.GetNodes()[0].GetTitle() != "shop" {
		t.Errorf("about shop-1: %v, %v", reply, err)
	}
	if _, err := g.AskFor(t.Context(), &loomv1.GraphRequest{Bead: "shop-1"}, []string{"bank"}); fault.Code(err) != "request/denied" {
		t.Errorf("about shop-1, for whoever may read bank alone: %v", err)
	}
	page, err := s.views().Answer(t.Context(), project.Graph, &loomv1.Query{}, nil)
	if err != nil || len(page.Graphs) != 2 || page.Graphs[1].Project != "shop" || page.Graphs[1].Number != 2 {
		t.Errorf("the view of all: %v, %v", page, err)
	}
}

// A project whose events cannot be replayed is left out of what all have, and named.
func TestP21_AQuarantinedProjectFailsNoOther(t *testing.T) {
	s := shelves{"bank": 3, "desk": -1, "shop": 2}
	views, left := s.views(), []string{"desk"}
	for v, q := range map[project.View]*loomv1.Query{
		project.Memories: {}, project.Graph: {}, project.Inbox: {}, project.Projects: {},
	} {
		page, err := views.Answer(t.Context(), v, q, nil)
		if err != nil || !slices.Equal(page.Quarantined, left) {
			t.Errorf("%s: %v left out, %v, want desk", v, page.GetQuarantined(), err)
			continue
		}
		if got := len(page.Memories) + len(page.Graphs) + len(page.Projects) + int(page.Waiting); got != 5 && got != 2 {
			t.Errorf("%s has %d entries, want those of bank and shop", v, got)
		}
	}
	page, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{Id: "m3"}, nil)
	if err != nil || page.Memories[0].Text != "bank" || !slices.Equal(page.Quarantined, left) {
		t.Errorf("m3: %v, %v, want that of bank", page, err)
	}
	if _, err := views.Answer(t.Context(), project.Memories, &loomv1.Query{Id: "m4"}, nil); fault.Code(err) != "project/quarantined" || !strings.Contains(err.Error(), "what desk has") {
		t.Errorf("m4, which desk may have: %v", err)
	}
	g := &Graphs{States: s, Projects: s.projects()}
	reply, err := g.AskFor(t.Context(), &loomv1.GraphRequest{}, nil)
	if err != nil || len(reply.Parts) != 2 || !slices.Equal(reply.Quarantined, left) {
		t.Errorf("all graphs: %v, %v", reply, err)
	}
	reply, err = g.AskFor(t.Context(), &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, Id: "d3"}, nil)
	if err != nil || reply.Project != "bank" || !slices.Equal(reply.Quarantined, left) {
		t.Errorf("around d3: %v, %v", reply, err)
	}

	none := shelves{"desk": -1, "shop": -1}
	if _, err := none.views().Answer(t.Context(), project.Memories, &loomv1.Query{}, nil); fault.Code(err) != "project/quarantined" {
		t.Errorf("where all are quarantined: %v", err)
	}
	g = &Graphs{States: none, Projects: none.projects()}
	if _, err := g.AskFor(t.Context(), &loomv1.GraphRequest{}, nil); fault.Code(err) != "project/quarantined" {
		t.Errorf("the graphs, where all are quarantined: %v", err)
	}
}
