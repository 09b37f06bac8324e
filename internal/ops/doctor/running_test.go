package doctor

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF51_P3_WhatTheRunningHostSaysOfItself asks the host that runs here for its
// clocks and for what it has stored.
func TestF51_P3_WhatTheRunningHostSaysOfItself(t *testing.T) {
	free := t.TempDir()
	wants(t, examine(t, "stored", Machine{Data: free}), Good, "no host runs here")
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	damaged := &loomv1.Error{Code: "data/damaged", Message: "stream LOOM_J_01: sequence 7: the record's checksum is wrong"}
	for _, tt := range []struct {
		name, check string
		reply       *loomv1.HostReply
		err         error
		want        Status
		text        string
	}{
		{"no damage", "stored", &loomv1.HostReply{}, nil, Good, "has found no damage"},
		{"damage", "stored", &loomv1.HostReply{Damage: []*loomv1.Error{damaged}}, nil, Failed, "stream LOOM_J_01: sequence 7"},
		{"no answer", "stored", nil, errors.New("it starts"), Good, "no host runs here"},
		{"the journal is ahead", "clock", &loomv1.HostReply{ClocksApart: durationpb.New(2 * time.Hour)}, nil, Warned, "journal time is 2h0m0s ahead of the host's clock"},
		{"the journal is behind", "clock", &loomv1.HostReply{ClocksApart: durationpb.New(-10 * time.Minute)}, nil, Warned, "journal time is 10m0s behind the host's clock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Machine{Data: dir.Path(), Host: func(context.Context) (*loomv1.HostReply, error) { return tt.reply, tt.err }}
			found := examine(t, tt.check, m)
			wants(t, found[:1], tt.want, tt.text)
			if (found[0].Do == "") != (tt.want == Good) {
				t.Errorf("%+v", found)
			}
		})
	}
}
