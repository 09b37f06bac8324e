// Package web serves a host over HTTP: health, metrics for Prometheus, and under
// /api/v1 the same messages that the services on NATS take and give, as JSON.
//
// It promises what RELIABILITY asks of such an interface: it listens on
// loopback alone; everything but health and the description of itself takes a
// bearer token of the right scope, and no scope can approve; a request for
// another host's name, or from another origin's page, is refused; bodies,
// headers, rates and streams are bounded; what is refused is told as
// problem+json with a code from the closed list, and never with a path or a
// stack. A stream of events loses nothing and repeats nothing over any number
// of disconnections: each event carries the cursor to go on from.
//
// It decides nothing, keeps no state that outlives a request but limits, and
// never shows text as anything but JSON.
package web
