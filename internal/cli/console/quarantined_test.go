package console

import (
	"io"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Whoever is shown a list without a project that cannot be read is told so.
func TestP21_WhatIsLeftOutOfAnAnswerIsNamed(t *testing.T) {
	var out, beside strings.Builder
	a := &Console{Out: &out, Err: &beside}
	v := &loomv1.View{Quarantined: []string{"desk", "shop"}}
	if err := a.Print(v, func(w io.Writer) { _, _ = io.WriteString(w, "a list\n") }); err != nil {
		t.Fatal(err)
	}
	if out.String() != "a list\n" || !strings.HasSuffix(beside.String(), "(project/quarantined): desk, shop\n") {
		t.Errorf("shown are %q and %q", out.String(), beside.String())
	}
	out.Reset()
	beside.Reset()
	a.JSON = true
	if err := a.Print(v, nil); err != nil || !strings.Contains(out.String(), `"quarantined":["desk","shop"]`) || beside.String() != "" {
		t.Errorf("as JSON: %q, %q, %v", out.String(), beside.String(), err)
	}
}
