package format_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestOPS01_TheLeastOfAllHostsIsAgreed(t *testing.T) {
	type hosts = []*loomv1.HostPresence
	for _, tt := range []struct {
		name  string
		hosts hosts
		want  format.Agreed
	}{
		{"nobody", nil, format.Agreed{}},
		{"one", hosts{{Host: "a", Format: 3}}, format.Agreed{Number: 3, Host: "a"}},
		{"one from before there were numbers", hosts{{Host: "a", Format: 3}, {Host: "b", Version: "0.0.9"}}, format.Agreed{Number: 1, Host: "b", Version: "0.0.9"}},
		{"one that is gone", hosts{{Host: "a", Format: 3, Alive: true}, {Host: "b", Format: 2}}, format.Agreed{Number: 2, Host: "b"}},
		{"the first of several", hosts{{Host: "a", Format: 2}, {Host: "b", Format: 2}, {Host: "c", Format: 3}}, format.Agreed{Number: 2, Host: "a"}},
		{"one with agents only", hosts{{Host: "a", Format: 3}, {Host: "b", Leaf: true}}, format.Agreed{Number: 3, Host: "a"}},
	} {
		if got := format.Agree(tt.hosts); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestOPS01_AKindIsWrittenIfAllReadIt(t *testing.T) {
	b := format.Build{Reads: 2, Kinds: map[string]uint32{"decision-added": 2}}
	added := &loomv1.Event{Fact: &loomv1.Event_DecisionAdded{DecisionAdded: &loomv1.DecisionAdded{}}}
	linked := &loomv1.Event{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{}}}
	for _, tt := range []struct {
		name   string
		build  format.Build
		event  *loomv1.Event
		agreed format.Agreed
		code   string
	}{
		{"nothing agreed", b, added, format.Agreed{}, ""},
		{"less than it needs", b, added, format.Agreed{Number: 1, Host: "a"}, "deployment/older-host"},
		{"just what it needs", b, added, format.Agreed{Number: 2, Host: "a"}, ""},
		{"more than it needs", b, added, format.Agreed{Number: 3, Host: "a"}, ""},
		{"a kind in no table", b, linked, format.Agreed{Number: 1, Host: "a"}, ""},
		{"no kind", b, &loomv1.Event{}, format.Agreed{Number: 1, Host: "a"}, ""},
		{"this build", format.Build{}, added, format.Agreed{Number: 1, Host: "a"}, ""},
	} {
		if err := tt.build.Check(tt.event, tt.agreed); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		}
	}
	if n := (format.Build{}).Number(); n != format.Newest {
		t.Errorf("this build reads up to %d, want %d", n, format.Newest)
	}
}

func TestOPS01_WhoHoldsItBackIsNamed(t *testing.T) {
	b := format.Build{Kinds: map[string]uint32{"decision-added": 2}}
	err := b.Check(&loomv1.Event{Fact: &loomv1.Event_DecisionAdded{}}, format.Agreed{Number: 1, Host: "h-1", Version: "0.1.0"})
	const want = "host h-1, of version 0.1.0, reads events of format 1, and this needs format 2"
	if got := fault.From(err); got.Message != want || got.Where != "h-1" || got.Hint == "" {
		t.Errorf("%q at %q with the hint %q, want %q at h-1 and a hint", got.Message, got.Where, got.Hint, want)
	}
}
