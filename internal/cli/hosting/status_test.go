package hosting

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestCLI01_StatusSaysWhatHinders has the status of a host say that its disk is full, that
// its cluster has no majority and which host is gone, each with what to do, and nothing of
// a host that is well.
func TestCLI01_StatusSaysWhatHinders(t *testing.T) {
	here := &loomv1.ClusterHost{Host: "a", Member: true, Connected: true}
	gone := &loomv1.ClusterHost{Host: "b", Member: true}
	full := &loomv1.Error{Code: "data/disk-full", Message: "1 MiB free on the disk", Hint: "make space"}
	for _, tt := range []struct {
		name     string
		host     *loomv1.HostReply
		kept     *loomv1.ClusterStatus
		hindered bool
		want     []string
	}{
		{"one that is well", &loomv1.HostReply{}, &loomv1.ClusterStatus{Quorum: true}, false, nil},
		{"in a directory at rest", &loomv1.HostReply{}, nil, false, nil},
		{"on a full disk", &loomv1.HostReply{Hindrances: []*loomv1.Error{full}}, nil, true, []string{"TAKES NOTHING NEW: 1 MiB free on the disk [data/disk-full]\n  make space\n"}},
		{"in a cluster without one", &loomv1.HostReply{}, &loomv1.ClusterStatus{Quorum: true, HostsWanted: 3, Hosts: []*loomv1.ClusterHost{here, gone}}, false, []string{"host b is gone\n", "loom cluster replace b --out FILE\n"}},
		{"without a majority", &loomv1.HostReply{}, &loomv1.ClusterStatus{HostsWanted: 3, Missing: "no leader", Hosts: []*loomv1.ClusterHost{here, gone}}, true, []string{"TAKES NOTHING NEW: the cluster has no majority of its 3 hosts: no leader\n", "loom cluster status", "host b is gone\n"}},
	} {
		var w strings.Builder
		hindrancesText(&w, tt.host, tt.kept)
		if got := hindered(tt.host, tt.kept); got != tt.hindered || (w.String() == "") != (tt.want == nil) {
			t.Errorf("%s: hindered %t, want %t:\n%s", tt.name, got, tt.hindered, w.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, w.String())
			}
		}
	}
}
