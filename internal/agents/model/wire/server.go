// Package wire asks a model's server over HTTP under one policy for all
// protocols: how long it waits, what it tries again, what it takes, and what
// an error may say.
//
// It promises that an answer is whole or an error, that nothing is asked more
// than its limits allow, that giving up closes the connection, and that no error
// holds a key or more than 200 bytes of what a server said. It knows no
// protocol; a protocol's package decodes the stream and reports to a [Call].
package wire

import (
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/base/fault"
)

// Server says where a model is asked, and within which limits.
type Server struct {
	// Spec names the model for people: "PROVIDER:MODEL".
	Spec string

	// Provider is the part of Spec that names the protocol and price list.
	Provider string

	// Model is what the server calls it.
	Model string

	// Base is the address that paths are appended to.
	Base string

	// Official says that Base is the provider's own address, so that its
	// newest fields hold.
	Official bool

	// Price is what the model costs there, nil where that is not known.
	Price *price.Quote

	// CacheMarks says that marks of what the server is to keep are sent.
	CacheMarks bool

	// Window is how many tokens the model takes, the question and the answer
	// together. Zero means that it is not known.
	Window int

	// Pictures says that the model takes pictures.
	Pictures bool

	// Key is sent to Base and nowhere else. It may be empty.
	Key string

	Limits Limits

	// Gates has the gate that requests go through. Nil means one of its own.
	Gates *Gates

	// Client sends the requests; its redirects are not followed. Nil means
	// one of its own.
	Client *http.Client
}

// Limits bound one request. The zero value of each field is its default.
type Limits struct {
	// Idle is the longest silence between two events of a stream. Zero means
	// 60 seconds.
	Idle time.Duration

	// First is the longest wait for the first event. Zero means Idle, and
	// Total for a server on this machine, which may read a long prompt slowly.
	First time.Duration

	// Total bounds all tries together. Zero means 10 minutes.
	Total time.Duration

	// Tries is how often a request is sent at most. Zero means 5.
	Tries int

	// Patience is the longest wait between two tries, and for rate limits in
	// all. A server that asks for more gets it: the request is given back as
	// rate limited until then. Zero means 20 seconds.
	Patience time.Duration
}

// WithDefaults returns l with its defaults in the place of zeros; loopback says
// that the server is on this machine.
func (l Limits) WithDefaults(loopback bool) Limits {
	l.Idle = either(l.Idle, time.Minute)
	l.Total = either(l.Total, 10*time.Minute)
	l.Tries = either(l.Tries, 5)
	l.Patience = either(l.Patience, 20*time.Second)
	if loopback {
		l.First = either(l.First, l.Total)
	}
	l.First = either(l.First, l.Idle)
	return l
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// CheckBase returns usage/argument unless Base, which variable gave, is an
// absolute http or https address without user, query or fragment.
func (s Server) CheckBase(variable string) error {
	u, err := url.Parse(s.Base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fault.New("usage/argument", "%s is no address of a server", variable).
			Want("for example http://127.0.0.1:11434/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return fault.New("usage/argument", "%s holds more than an address", variable).
			Want("leave out user, password, query and fragment; the key has its own variable")
	}
	return nil
}

// Loopback reports whether Base is on this machine.
func (s Server) Loopback() bool {
	u, err := url.Parse(s.Base)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}
