// Package natswire lets the actors and services of many hosts talk over NATS.
//
// Two ways to reach somebody:
//
//   - By address. A PID whose address is nats://HOST.EPOCH works from every
//     host: send, request, watch. The epoch is new at each start of a host, so
//     the PIDs of a dead process stay dead.
//   - By name. Whoever bears a name is asked with [Wire.Call], and another one
//     with the same request id when it is taken over meanwhile.
//
// It promises that a message arrives at most once, in the order in which its
// sender sent it, or not at all; that who asks hears something (an answer, a
// dead letter, a refusal, or that nothing came in time); and that memory is
// bounded on both sides. It never stores anything: work that must not be lost
// belongs into a journal or a queue, and its outcome is asked for again.
package natswire
