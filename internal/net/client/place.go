package client

import (
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
)

// Place says which host to talk to, and as whom.
type Place struct {
	// Data is the data directory of a host of this machine, whose operator the
	// client is. It is not looked at when there are credentials.
	Data string
	// Credentials is a file that "loom auth user add" has made.
	Credentials string
	// URL is where the host listens. Empty means what the credentials say.
	URL string
}

// Open connects to a host. It returns host/not-running when none answers, and
// request/denied when it does not let the credentials in.
func Open(p Place) (*Client, error) { return p.open(false) }

// OpenCEO connects to the account of signed commands; Present and Decide are all
// it can do. It returns request/denied for credentials without that way in.
func OpenCEO(p Place) (*Client, error) { return p.open(true) }

func (p Place) open(control bool) (*Client, error) {
	if p.Credentials == "" && p.URL != "" {
		return nil, fault.New("usage/argument", "a host elsewhere wants credentials").At("--nats").Want("--creds FILE; \"loom auth user add\" makes one")
	}
	switch {
	case p.Credentials == "" && control:
		return DialCEO(p.Data)
	case p.Credentials == "":
		return Dial(p.Data)
	}
	c, err := identity.ReadCredentials(p.Credentials)
	if err != nil {
		return nil, err
	}
	nc, err := broker.DialAs(c, p.URL, control)
	if err != nil {
		return nil, err
	}
	client := New(nc)
	client.ceo = c.Name
	return client, nil
}
