// Package format is the pure core that says which kinds of events may be
// written while hosts of several builds keep one deployment.
//
// Every build reads events up to a number, which it says of itself; the hosts of
// a deployment agree on the least of theirs. It promises that a kind is written
// only if all of them read it, and that a refusal names who does not. A kind that
// is in no table is read by all. It talks to nobody, and it decides nothing of
// what is read: that is package journal's.
//
// Whoever adds a kind of event that an earlier build cannot do without raises
// [Newest] and says so where the kind is declared (option since). A decision must
// begin with such a kind, or ask before it begins: what has begun cannot be refused
// any more.
package format

import (
	"cmp"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Newest is the number up to which this build reads events. Builds from before
// there were numbers say none, which is 1.
const Newest = 1

// Build is what a build reads. The zero value is this build.
type Build struct {
	// Reads is the number up to which it reads events. Zero means [Newest].
	Reads uint32
	// Kinds are the kinds of events that not every build reads, by name, and the
	// number from which on builds do. Nil means what the contract says.
	Kinds map[string]uint32
}

// Number is the number up to which b reads events, at least 1.
func (b Build) Number() uint32 { return cmp.Or(b.Reads, Newest) }

// needs is the number that a host must have to read e.
func (b Build) needs(e *loomv1.Event) uint32 {
	k := fact.Of(e)
	switch {
	case k == nil:
		return 1
	case b.Kinds != nil:
		return max(b.Kinds[k.Name], 1)
	}
	return k.Since
}

// Agreed is what the hosts of a deployment read, all of them. The zero value
// limits nothing.
type Agreed struct {
	// Number is the least up to which a host reads events.
	Number uint32
	// Host reads no more than that, and Version is its build.
	Host, Version string
}

// Agree returns what all hosts read, those that are gone included: they come
// back. Hosts that only run agents read no events and do not count. Of several
// that read the least, the first one is named.
func Agree(hosts []*loomv1.HostPresence) (a Agreed) {
	for _, h := range hosts {
		if n := max(h.Format, 1); !h.Leaf && (a.Number == 0 || n < a.Number) {
			a = Agreed{n, h.Host, h.Version}
		}
	}
	return a
}

// Check returns deployment/older-host if not all hosts read e.
func (b Build) Check(e *loomv1.Event, a Agreed) error {
	need := b.needs(e)
	if a.Number == 0 || need <= a.Number {
		return nil
	}
	return fault.New("deployment/older-host", "host %s, of version %s, reads events of format %d, and this needs format %d", a.Host, cmp.Or(a.Version, "unknown"), a.Number, need).
		At(a.Host).Want("upgrade that host, or take it out if it is lost: loom cluster remove")
}
