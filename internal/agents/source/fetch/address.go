package fetch

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// reserved are addresses that are not of the public Internet, beside those
// that package netip knows (IANA's registries of special purpose addresses).
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Public reports whether an address is one of the public Internet. IPv4
// addresses inside of IPv6 ones are looked at as what they are.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

const maxURL = 4096 // bytes

func denied(where, format string, args ...any) *fault.Error {
	return fault.New("source/denied", format, args...).At(where)
}

// allowed parses a URL and refuses what is not a plain request to a host of
// the list.
func (c *Client) allowed(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, denied("url", "the address has %d bytes; at most %d are taken", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, denied("url", "it is not an address of http or https")
	}
	u.Host = strings.ToLower(u.Host)
	host := strings.TrimSuffix(u.Hostname(), ".")
	switch port := u.Port(); {
	case u.User != nil:
		return nil, denied("url", "an address with a user in it is not fetched")
	case !c.config.Private && port != "" && port != "80" && port != "443":
		return nil, denied("url", "only the ports 80 and 443 are asked").Got(port)
	case !c.config.listed(host):
		return nil, denied("url", "the host is not one that may be asked").Got(host).Want("%s", c.config.hint())
	}
	return u, nil
}

// listed reports whether a host is in the list: by name, below a "*.name", or
// by "*", which is any host with a name.
func (c Config) listed(host string) bool {
	_, err := netip.ParseAddr(host)
	address := err == nil
	for _, h := range c.Hosts {
		h = strings.ToLower(h)
		below, wild := strings.CutPrefix(h, "*.")
		switch {
		case h == host, h == "*" && !address && strings.Contains(host, "."):
			return true
		case wild && !address && strings.HasSuffix(host, "."+below):
			return true
		}
	}
	return false
}

// CheckHost returns why a name of [Config.Hosts] could never be asked by a client without
// Private, or nil. What names lead to is only known when they are asked.
func CheckHost(host string) error {
	wrong := func(format string, args ...any) error {
		return fault.New("usage/argument", format, args...).Got(host).
			Want("a name of the public Internet, which is asked on the ports 80 and 443: example.com, *.example.com for all below it, or * for any")
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	_, _, withPort := strings.Cut(host, ":")
	switch {
	case err == nil && !Public(a):
		return wrong("an address of a private network or of this machine is never asked")
	case err == nil && host != a.String():
		return wrong("an address stands by itself, as %s", a)
	case err == nil || host == "*":
		return nil
	case strings.Contains(host, "/"):
		return wrong("a host is named, and no address of a page")
	case withPort:
		return wrong("a host is named without a port")
	}
	name := strings.ToLower(strings.TrimPrefix(host, "*."))
	switch {
	case !hostName.MatchString(name):
		return wrong("this is no name of a host")
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return wrong("this machine is never asked")
	}
	return nil
}

// hostName is what a name can be; an underscore stands in some.
var hostName = regexp.MustCompile(`^[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?(\.[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?)*$`)

func (c Config) hint() string {
	if len(c.Hosts) == 0 {
		return "no host is allowed here"
	}
	return "you may ask " + strings.Join(c.Hosts[:min(len(c.Hosts), 20)], ", ")
}
