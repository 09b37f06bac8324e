// Package fetch gets pages over HTTP for agents, who may be told by what they
// read to fetch something that they should not.
//
// It promises that a request goes to a host of its list and nowhere else, not
// by a redirect and not by a name that leads to an address of this machine or
// of a private network; that an address is checked after its name is resolved,
// and is the one that is connected to; that nothing is sent but GET, without
// cookies or credentials of the machine; that answers are bounded and in time;
// and that errors say the host, never the rest of a URL, which may hold a key.
//
// It is no cache and tries nothing twice.
package fetch
