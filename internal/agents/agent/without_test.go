package agent_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// reachable are the tools that a model may call: those with schemas, and those behind
// the tool use in its place.
func reachable(offered []model.ToolSpec) (list []model.ToolSpec) {
	for _, s := range offered {
		if len(s.Behind) > 0 {
			list = append(list, s.Behind...)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// What a host cannot carry out is not offered, a call of it is told why, and a turn
// that another host goes on with is offered the same.
func TestTOOL02_WhatCannotWorkIsNotOffered(t *testing.T) {
	var offered [][]string
	var told string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		var names []string
		for _, s := range reachable(r.Tools) {
			names = append(names, s.Name)
		}
		if offered = append(offered, names); len(offered) == 1 {
			return says(call("shell", map[string]any{"command": "true"})), nil
		}
		told = r.Messages[len(r.Messages)-1].Text
		return finish("success"), nil
	})
	sandboxed := b.worker.Exec
	b.worker.Exec = func(string, roles.Role, string) tool.Policy { return tool.Policy{} }
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	b.seat.cutAt = 3 // the first host ends with the call
	if _, err := b.work(br); err == nil {
		t.Fatal("the first host went on")
	}
	b.worker.Exec, b.seat.cutAt = sandboxed, 0
	br.Turn = proto.CloneOf(b.seat.turn)
	b.must(br)
	if len(offered) != 2 || !slices.Equal(offered[0], offered[1]) {
		t.Errorf("offered %q", offered)
	}
	for _, name := range []string{"shell", "lsp_diagnostics"} {
		if slices.Contains(offered[0], name) {
			t.Errorf("%s is offered where nothing can run", name)
		}
	}
	if !slices.Contains(offered[0], "file_edit") || !slices.Contains(offered[0], "git_diff") {
		t.Errorf("offered are only %q", offered[0])
	}
	if !strings.Contains(told, "the host that it began on could not carry it out") {
		t.Errorf("a call of shell is told %q", told)
	}
}
