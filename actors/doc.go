// Package actors holds the shells that carry out what the pure cores decide.
//
//	host
//	├── partition/NN          recovers a partition from its journal, has its addresses
//	│   ├── keeper            the only appender: group commit, chain, epoch
//	│   └── project/ID        supervises the cells; has the project's domain
//	│       ├── work          decides beads, executions, attempts, approvals, budgets
//	│       ├── graph         decides and reads the decision graph
//	│       ├── lock          decides and reads the commit lock and its trains
//	│       └── memory        decides and reads what the project remembers
//	├── intake                submissions and error reports from subjects and streams
//	├── pool/ROLE             the agents of a role on this host
//	│   └── agent/N           pulls a ticket, claims, works, answers
//	└── follower/NN           follows a journal into the projection
//
// A request goes from its caller to the cell of its core, from there to the keeper,
// back to the cell once it is in the journal, and the answer to the caller. The cells
// of a project take turns at its [domain], so its journal has one order.
//
// Promises: nothing is told to anybody before it is in the journal; a mailbox
// is never the only place where work exists; Receive never waits but for the turn of
// its project (what takes time runs in a goroutine and comes back as a message that
// names the incarnation or life it belongs to). A cell that fails is restarted alone.
// A project whose cores fail is folded anew from the journal, alone. A keeper that
// fails takes its partition through recovery. An agent that fails is started
// again with backoff and its attempt goes on from its last recorded step.
//
// This package names the few methods it needs of the outside world as
// interfaces; the host plugs them in. It imports no effect.
package actors
