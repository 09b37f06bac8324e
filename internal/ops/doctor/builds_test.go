package doctor

import (
	"context"
	"errors"
	"testing"

	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestOPS02_MixedBuildsAreSeen(t *testing.T) {
	free := t.TempDir()
	wants(t, examine(t, "builds", Machine{Data: free}), Good, "no host runs here")
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	one, other, silent := &loomv1.HostPresence{Host: "h-1", Version: "1.0"}, &loomv1.HostPresence{Host: "h-2", Version: "1.1"}, &loomv1.HostPresence{Host: "h-3"}
	for _, tt := range []struct {
		name  string
		reply *loomv1.HostsReply
		err   error
		want  Status
		text  string
	}{
		{"one build", &loomv1.HostsReply{Hosts: []*loomv1.HostPresence{one, one, silent}}, nil, Good, "all hosts are of version 1.0"},
		{"two builds", &loomv1.HostsReply{Hosts: []*loomv1.HostPresence{one, other}}, nil, Warned, "hosts are of several builds: h-1 1.0, h-2 1.1"},
		{"no answer", nil, errors.New("it starts"), Warned, "it starts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Machine{Data: dir.Path(), Hosts: func(context.Context) (*loomv1.HostsReply, error) { return tt.reply, tt.err }}
			found := examine(t, "builds", m)
			wants(t, found, tt.want, tt.text)
			if (found[0].Do == "") != (tt.want == Good) {
				t.Errorf("%+v", found)
			}
		})
	}
}
