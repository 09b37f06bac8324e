// Package identity keeps who may connect to a deployment: publishers,
// observers, operators, the CEO's way in, hosts and workers, each with the
// public half of an nkey of its own.
//
// It promises that no private key is ever kept (whoever is added gets it, once),
// that a name stands for one identity for good, that one which was revoked or
// has expired is refused, and that a store which cannot be trusted lets nobody
// in. It never decides what an identity may do: that is the broker's table.
package identity
