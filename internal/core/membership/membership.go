// Package membership is the pure core that says which hosts belong to a
// deployment of several: whom the others talk to, how many there shall be, and
// who was taken out for good.
//
// It promises that a host that was removed never comes back under its name or
// its key, that nobody is let in beyond the number of hosts that is wanted, that
// of two lists of one deployment the newer can be told, and that a list says who
// changed it last, until that is journaled elsewhere. It reads no clock,
// draws no chance and talks to nobody: who changes a list keeps it by
// compare-and-set, and a change that is refused changes nothing.
package membership

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

const (
	format    = 1
	maxReason = 1024 // bytes
	// maxRemoved is how many hosts that were removed a list can remember.
	maxRemoved = 1024
	// maxChanges is how many changes a list remembers.
	maxChanges = 16
)

// List is which hosts belong to a deployment.
type List struct {
	// Format is the version of the list's format.
	Format int `json:"format"`
	// Lineage is that of the deployment: lists of another are none of ours.
	Lineage string `json:"lineage"`
	// Generation counts the changes of the list.
	Generation uint64 `json:"generation"`
	// Hosts is how many hosts there shall be: 3 or 5.
	Hosts int `json:"hosts"`
	// Authority signs the certificates of newcomers, in PEM. Those who are
	// listed are known by their keys.
	Authority string `json:"authority"`
	// Members are the hosts of the deployment, and Removed those that were, both
	// sorted by name.
	Members []Member  `json:"members"`
	Removed []Removed `json:"removed,omitempty"`
	// Changes are the last ones, the newest last, for the deployment's journal.
	Changes []Done `json:"changes,omitempty"`
}

// Done is a change of a list; what it did not do is empty.
type Done struct {
	// Generation is that of the list after it.
	Generation uint64    `json:"generation"`
	At         time.Time `json:"at"`
	// By is the operator who wanted it, or the host that Joined.
	By string `json:"by"`
	// Joined came in, or is met at another address from then on.
	Joined  string `json:"joined,omitempty"`
	Address string `json:"address,omitempty"`
	Removed string `json:"removed,omitempty"`
	// Invited says that a join file was made, and that earlier ones count no more.
	Invited bool `json:"invited,omitempty"`
	// Hosts is how many there shall be.
	Hosts  int    `json:"hosts,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Member is a host of the deployment.
type Member struct {
	Host string `json:"host"`
	// Key is the fingerprint of its certificate's public key.
	Key string `json:"key"`
	// Address is where the others meet it, HOST:PORT; empty if only it knows.
	Address string `json:"address,omitempty"`
	// Since is when it was listed.
	Since time.Time `json:"since"`
}

// Removed is a host that belonged to the deployment.
type Removed struct {
	Host   string    `json:"host"`
	Key    string    `json:"key,omitempty"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// New returns the list of a deployment that begins.
func New(lineage string, hosts int, authority string) List {
	return List{Format: format, Lineage: lineage, Generation: 1, Hosts: hosts, Authority: authority, Members: []Member{}}
}

// Decode reads a list. It returns data/manifest when it is not sound.
func Decode(data []byte) (List, error) {
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return List{}, unsound(err)
	}
	if err := l.check(); err != nil {
		return List{}, unsound(err)
	}
	return l, nil
}

func unsound(err error) error {
	return fault.New("data/manifest", "the list of the deployment's hosts is not sound").Because(err)
}

// Encode returns l as [Decode] reads it.
func (l List) Encode() []byte {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // a list is plain data
	}
	return data
}

// check returns what is wrong with a list that was read.
func (l List) check() error {
	switch {
	case l.Format != format:
		return fmt.Errorf("it is of format %d and this build reads %d", l.Format, format)
	case l.Lineage == "" || l.Generation < 1:
		return errors.New("it names no lineage or generation")
	case !odd(l.Hosts):
		return fmt.Errorf("a deployment has 3 or 5 hosts, not %d", l.Hosts)
	}
	names := map[string]bool{}
	for _, m := range l.Members {
		if m.Host == "" || m.Key == "" || names[m.Host] {
			return fmt.Errorf("host %q has no key, or is listed twice", m.Host)
		}
		names[m.Host] = true
	}
	for _, r := range l.Removed {
		if names[r.Host] {
			return fmt.Errorf("host %q is listed and removed", r.Host)
		}
	}
	return nil
}

func odd(hosts int) bool { return hosts == 3 || hosts == 5 }

// Clone returns a copy that shares nothing with l.
func (l List) Clone() List {
	l.Members, l.Removed, l.Changes = slices.Clone(l.Members), slices.Clone(l.Removed), slices.Clone(l.Changes)
	return l
}

// Since returns the changes after a generation that l remembers, oldest first.
func (l List) Since(generation uint64) (list []Done) {
	for _, d := range l.Changes {
		if d.Generation > generation {
			list = append(list, d)
		}
	}
	return list
}

// note makes a changed list the next generation, which says what was done.
func (l *List) note(d Done) {
	l.Generation++
	d.Generation = l.Generation
	l.Changes = append(l.Changes, d)
	l.Changes = l.Changes[max(0, len(l.Changes)-maxChanges):]
}

// Member returns a host that is listed.
func (l List) Member(host string) (Member, bool) {
	i := slices.IndexFunc(l.Members, func(m Member) bool { return m.Host == host })
	if i < 0 {
		return Member{}, false
	}
	return l.Members[i], true
}

// Gone returns how a host was removed, if it was.
func (l List) Gone(host string) (Removed, bool) {
	i := slices.IndexFunc(l.Removed, func(r Removed) bool { return r.Host == host })
	if i < 0 {
		return Removed{}, false
	}
	return l.Removed[i], true
}

// Places returns how many hosts can still join.
func (l List) Places() int { return max(0, l.Hosts-len(l.Members)) }

// Addresses returns where the members but one meet the others, sorted.
func (l List) Addresses(but string) (list []string) {
	for _, m := range l.Members {
		if m.Host != but && m.Address != "" {
			list = append(list, m.Address)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Newer says whether l is a later list of the same deployment than o, which may
// be the zero list.
func (l List) Newer(o List) bool {
	return (o.Lineage == "" || o.Lineage == l.Lineage) && l.Generation > o.Generation
}

// Known says whether a host with a key is let in by the list alone. It returns
// cluster/removed for one that was removed and cluster/full for one that there
// is no place for. A host that is not listed, while there is a place, is known
// only if signed says that the authority of the list signed its certificate:
// else it is cluster/removed as well, because its join file counts no more.
func (l List) Known(host, key string, signed bool) error {
	if r, gone := l.Gone(host); gone {
		return fault.New("cluster/removed", "host %s was removed from the deployment on %s by %s", host, r.At.UTC().Format(time.RFC3339), r.By).
			At(host).Want("join as a new host: an empty data directory, and a join file of \"loom cluster invite\"")
	}
	if slices.ContainsFunc(l.Removed, func(r Removed) bool { return r.Key == key && key != "" }) {
		return fault.New("cluster/removed", "the key of host %s is that of a host that was removed", host).At(host)
	}
	m, listed := l.Member(host)
	switch {
	case listed && m.Key == key:
		return nil
	case listed:
		return fault.New("cluster/removed", "host %s is listed with another key", host).At(host).
			Want("put its member.json back, or replace it: loom cluster replace")
	case !signed:
		return fault.New("cluster/removed", "host %s is not listed, and the join file that it came with counts no more", host).At(host).
			Want("a new one: loom cluster invite")
	case l.Places() == 0:
		return fault.New("cluster/full", "the deployment has all its %d hosts: %s", l.Hosts, strings.Join(l.names(), ", ")).At(host).
			Want("loom cluster replace, or loom cluster grow")
	}
	return nil
}

func (l List) names() (list []string) {
	for _, m := range l.Members {
		list = append(list, m.Host)
	}
	return list
}

// Enlist returns l with a host in it that its authority has signed, and whether
// that changes it. A host whose address has changed is listed with the new one.
// It returns what [List.Known] does.
func (l List) Enlist(m Member) (List, bool, error) {
	if err := l.Known(m.Host, m.Key, true); err != nil {
		return l, false, err
	}
	old, listed := l.Member(m.Host)
	if listed && old.Address == m.Address {
		return l, false, nil
	}
	l = l.Clone()
	at := m.Since
	if listed {
		m.Since = old.Since
		l.Members = slices.DeleteFunc(l.Members, func(o Member) bool { return o.Host == m.Host })
	}
	l.Members = append(l.Members, m)
	slices.SortFunc(l.Members, func(a, b Member) int { return cmp.Compare(a.Host, b.Host) })
	l.note(Done{At: at, By: m.Host, Joined: m.Host, Address: m.Address})
	return l, true, nil
}

// Change is what an operator wants of a list; what is empty stays as it is.
type Change struct {
	// Remove takes a host out.
	Remove string
	// Authority signs newcomers from now on, in PEM.
	Authority string
	// Hosts is how many there shall be.
	Hosts int
	// Reason says why, in at most 1,024 bytes.
	Reason string
}

// Facts are what a change depends on beside the list.
type Facts struct {
	// Replicas is how many hosts keep each stream.
	Replicas int
	// Here are the hosts that are running, the one that asks included.
	Here []string
	// Seen are hosts that the streams count, whether they are listed or not.
	Seen []string
	At   time.Time
	By   string
}

// Apply returns l after a change, and whether that is another list: a host that
// was removed before stays removed. It returns cluster/change for one that
// makes no sense or would cost the deployment its majority, and
// cluster/running when the host to remove runs.
func (l List) Apply(c Change, f Facts) (List, bool, error) {
	if len(c.Reason) > maxReason {
		return l, false, fault.New("cluster/change", "a reason has at most %d bytes, not %d", maxReason, len(c.Reason)).At("reason")
	}
	out := l.Clone()
	if c.Remove != "" {
		if err := out.remove(c, f); err != nil {
			return l, false, err
		}
	}
	if c.Hosts != 0 {
		if err := out.resize(c.Hosts, f); err != nil {
			return l, false, err
		}
	}
	if c.Authority != "" {
		if out.Places() == 0 {
			return l, false, fault.New("cluster/full", "the deployment has all its %d hosts, and nobody can join", out.Hosts).
				Want("loom cluster replace HOST, or loom cluster grow")
		}
		out.Authority = c.Authority
	}
	if string(out.Encode()) == string(l.Encode()) {
		return l, false, nil
	}
	out.note(l.done(out, c, f))
	return out, true, nil
}

// done is what a change did that made l out.
func (l List) done(out List, c Change, f Facts) Done {
	d := Done{At: f.At, By: f.By, Invited: out.Authority != l.Authority, Reason: c.Reason}
	if len(out.Removed) > len(l.Removed) {
		d.Removed = c.Remove
	}
	if out.Hosts != l.Hosts {
		d.Hosts = out.Hosts
	}
	return d
}

// remove takes a host out of l.
func (l *List) remove(c Change, f Facts) error {
	if _, err := subject.Parse("host", c.Remove); err != nil {
		return err
	}
	if _, gone := l.Gone(c.Remove); gone {
		return nil
	}
	m, listed := l.Member(c.Remove)
	if !listed && !slices.Contains(f.Seen, c.Remove) {
		return fault.New("cluster/change", "there is no host %q", c.Remove).At("host").Want("one of %s", strings.Join(l.names(), ", "))
	}
	if slices.Contains(f.Here, c.Remove) {
		return fault.New("cluster/running", "host %s is running", c.Remove).At(c.Remove).Want("stop it first; a host that is removed loses what it keeps")
	}
	if err := l.keepsMajority(c.Remove, f); err != nil {
		return err
	}
	if len(l.Removed) >= maxRemoved {
		return fault.New("cluster/change", "%d hosts have been removed, and the list holds no more", len(l.Removed))
	}
	l.Members = slices.DeleteFunc(l.Members, func(o Member) bool { return o.Host == c.Remove })
	l.Removed = append(l.Removed, Removed{Host: c.Remove, Key: m.Key, At: f.At, By: f.By, Reason: c.Reason})
	slices.SortFunc(l.Removed, func(a, b Removed) int { return cmp.Compare(a.Host, b.Host) })
	return nil
}

// keepsMajority refuses to remove a host when those that run are not more than
// half of the hosts, with it and without.
func (l *List) keepsMajority(remove string, f Facts) error {
	all := slices.Clone(f.Seen)
	all = append(all, l.names()...)
	slices.Sort(all)
	all = slices.Compact(all)
	left := slices.DeleteFunc(slices.Clone(all), func(h string) bool { return h == remove })
	here := 0
	for _, h := range left {
		if slices.Contains(f.Here, h) {
			here++
		}
	}
	if here*2 <= len(all) || here*2 <= len(left) || here < 2 {
		return fault.New("cluster/change", "%d of %d hosts are running without %s, and that is no majority", here, len(all), remove).At(remove).
			Want("start the other hosts first")
	}
	return nil
}

// resize says how many hosts l shall have.
func (l *List) resize(hosts int, f Facts) error {
	switch {
	case !odd(hosts):
		return fault.New("cluster/change", "a deployment of several hosts has 3 or 5, not %d", hosts).At("hosts")
	case hosts < f.Replicas:
		return fault.New("cluster/change", "the deployment keeps %d replicas of each stream, and %d hosts cannot", f.Replicas, hosts).At("hosts")
	case hosts < len(l.Members):
		return fault.New("cluster/change", "the deployment has %d hosts", len(l.Members)).At("hosts").
			Want("remove %d of %s first, one after the other: loom cluster remove HOST", len(l.Members)-hosts, strings.Join(l.names(), ", "))
	}
	l.Hosts = hosts
	return nil
}
