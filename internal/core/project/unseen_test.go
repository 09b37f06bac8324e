package project_test

import (
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestSUB02_WhatNobodySeesIsRefused has one character in a goal or a description that a
// person who reads it does not see, or that changes what stands around it: each is refused
// by itself.
func TestSUB02_WhatNobodySeesIsRefused(t *testing.T) {
	d := newDesk(t)
	number := d.s.Number()
	for _, r := range []rune{
		0, '\a', 0x1b, 0x7f, 0x9b, // controls
		0x202a, 0x202d, 0x202e, 0x2066, 0x2067, 0x2069, // directions
		0xe0001, 0xe0041, 0xe007f, // tags
	} {
		for _, b := range []*loomv1.Submission{
			{Goal: fmt.Sprintf("pay %c the supplier", r)},
			{Goal: "pay the supplier", Description: fmt.Sprintf("as %c before", r)},
		} {
			_, err := d.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: b}}})
			if code := fault.Code(err); code != "submit/invalid-field" {
				t.Errorf("%U in %q: %v", r, b.Goal+b.Description, err)
			}
		}
	}
	if d.s.Number() != number {
		t.Errorf("%d events were written", d.s.Number()-number)
	}
}
