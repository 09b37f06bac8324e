package broker

import (
	"time"
	_ "unsafe" // go:linkname
)

// How the hosts of a cluster elect who leads a stream. The server has no option
// for it, and its own figures (4 to 9 s of silence, a heartbeat a second) are
// made for clusters over wide networks: while they pass nobody can write to a
// stream whose leader died, so they would be most of a take-over. Silence of
// four heartbeats is what the server's own figures allow as well.
//
// Hosts with other figures meet without harm: they are about when a host asks
// for votes, and never about who is elected.
const (
	electionLeast = 1500 * time.Millisecond
	electionMost  = 3 * time.Second
	leaderBeat    = electionLeast / 4
)

// The server's variables. One that is not there any more fails the build.
var (
	//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
	minElectionTimeout time.Duration
	//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
	maxElectionTimeout time.Duration
	//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
	hbInterval time.Duration
)

// They are set before any server runs, since all of a process share them.
func init() {
	minElectionTimeout, maxElectionTimeout, hbInterval = electionLeast, electionMost, leaderBeat
}
