// Package actors holds the shells that carry out what the pure cores decide.
//
//	host
//	├── partition/NN          recovers a partition from its journal, routes to projects
//	│   ├── keeper            the only appender: group commit, chain, epoch
//	│   └── project/ID        runs the cores of a project, one command at a time
//	│       ├── graph         answers from its own fold of the decision graph
//	│       └── lock          answers from its own fold of the commit lock
//	├── intake                submissions and error reports from subjects and streams
//	├── desk                  the operator desk: signed commands of the CEO
//	├── pool/ROLE             the agents of a role on this host
//	│   └── agent/N           pulls a ticket, claims, works, answers
//	└── follower/NN           follows a journal into the projection
//
// Promises: nothing is told to anybody before it is in the journal; a mailbox
// is never the only place where work exists; Receive never waits (what takes
// time runs in a goroutine and comes back as a message that carries the
// incarnation it belongs to). A project, or its keeper, that fails takes its
// partition through recovery from the journal; an agent that fails is started
// again with backoff and its attempt goes on from its last recorded step.
//
// This package names the few methods it needs of the outside world as
// interfaces; the host plugs them in. It imports no effect.
package actors
