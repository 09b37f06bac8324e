package broker

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// A stream whose replicas are all on hosts that stand back is led by one of them,
// and does not go round; one that is behind is left to catch up.
func TestP5_TheLeadIsGivenUpToWhoCanTakeIt(t *testing.T) {
	current := func(name string) *server.PeerInfo { return &server.PeerInfo{Name: name, Current: true} }
	for name, c := range map[string]struct {
		info *server.ClusterInfo
		want bool
	}{
		"to who hears all":           {&server.ClusterInfo{Leader: "a", Replicas: []*server.PeerInfo{current("b"), current("c")}}, true},
		"another leads":              {&server.ClusterInfo{Leader: "b", Replicas: []*server.PeerInfo{current("b"), current("c")}}, false},
		"others have it":             {&server.ClusterInfo{Leader: "a", Replicas: []*server.PeerInfo{current("b"), current("d")}}, false},
		"who hears all is behind":    {&server.ClusterInfo{Leader: "a", Replicas: []*server.PeerInfo{current("b"), {Name: "c", Lag: 7}}}, false},
		"who hears all is not there": {&server.ClusterInfo{Leader: "a", Replicas: []*server.PeerInfo{{Name: "c", Current: true, Offline: true}}}, false},
		"nobody else has it":         {&server.ClusterInfo{Leader: "a"}, false},
		"of no cluster":              {nil, false},
	} {
		if got := yields(c.info, "a", []string{"c"}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
