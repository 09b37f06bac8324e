package broker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/store/datadir"
)

const (
	// listSubject is where hosts tell each other the list, in their own account:
	// a host that missed changes hears of them from any host that it meets,
	// before it can read anything.
	listSubject = "loom-hosts"
	// tellEvery is how often, and refuseAgain how often a refusal is logged.
	tellEvery   = time.Second
	refuseAgain = time.Minute
)

// trust knows the newest list of the deployment's hosts, and lets hosts in by
// it.
type trust struct {
	dir    *datadir.Dir
	log    *slog.Logger
	member datadir.Member

	mu      sync.Mutex
	list    membership.List // the zero list while none is known
	refused map[string]time.Time
}

// newTrust reads what is known from earlier starts.
func newTrust(dir *datadir.Dir, log *slog.Logger) (*trust, error) {
	member, err := dir.Member()
	if err != nil {
		return nil, err
	}
	list, err := dir.List()
	if err != nil {
		return nil, err
	}
	t := &trust{dir: dir, log: log, member: member, list: list, refused: map[string]time.Time{}}
	if list.Lineage == "" {
		return t, nil
	}
	return t, dir.Learn(list)
}

// known says whether another host may come in.
func (t *trust) known(p datadir.Peer) error {
	list := t.now()
	var err error
	if list.Lineage == "" { // nobody has agreed on anything yet
		if !p.SignedBy(t.member.Authority) {
			err = fault.New("cluster/deployment", "host %q has no certificate of this deployment", p.Host)
		}
	} else {
		err = list.Known(p.Host, p.Key, p.SignedBy(list.Authority))
	}
	if err != nil {
		t.complain(p.Host, err)
	}
	return err
}

// complain logs a refusal, now and then.
func (t *trust) complain(host string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.refused) > 1024 {
		clear(t.refused)
	}
	if time.Since(t.refused[host]) < refuseAgain {
		return
	}
	t.refused[host] = time.Now()
	t.log.Warn("a host is refused", "host", host, "error", err)
}

// now returns the newest list that is known.
func (t *trust) now() membership.List {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list
}

// take keeps a list if it is newer than what is known.
func (t *trust) take(l membership.List) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !l.Newer(t.list) || t.foreign(l) {
		return
	}
	t.list = l
	if err := t.dir.Learn(l); err != nil {
		t.log.Error("the list of hosts is not kept; it holds until this host stops", "error", err)
	}
	t.log.Info("the list of hosts", "generation", l.Generation, "hosts", len(l.Members), "wanted", l.Hosts)
}

// foreign says whether a list is of another beginning of the deployment than
// the one that this host knows.
func (t *trust) foreign(l membership.List) bool {
	lineage := t.dir.Manifest().Lineage
	return lineage != "" && lineage != l.Lineage
}

// shareList tells the others the list, and hears of theirs, until ctx ends.
func (b *Broker) shareList(context.Context) error {
	if b.trust == nil {
		return nil
	}
	nc := b.conns[core]
	_, err := nc.Subscribe(listSubject, func(m *nats.Msg) {
		if l, err := membership.Decode(m.Data); err == nil {
			b.trust.take(l)
		}
	})
	if err != nil {
		return fault.New("host/unavailable", "the hosts cannot be listened to").Because(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.untell = cancel
	b.running.Go(func() {
		again := time.NewTicker(tellEvery)
		defer again.Stop()
		for {
			b.tellList()
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// tellList tells the others the list, if there is one. It never blocks.
func (b *Broker) tellList() {
	if l := b.trust.now(); l.Lineage != "" {
		_ = b.conns[core].Publish(listSubject, l.Encode()) // again in a moment
	}
}

// oddRoutes warns of routes that lead to no host of the list: they were said
// when the deployment had others.
func (b *Broker) oddRoutes(l membership.List) {
	known := l.Addresses("")
	var odd []string
	for _, r := range b.config.Cluster.Routes {
		if !slices.Contains(known, r) && !b.config.Cluster.own(r) {
			odd = append(odd, r)
		}
	}
	if len(odd) > 0 && l.Places() == 0 {
		b.log.Warn("routes lead to no host of the deployment; the list is older than the deployment's",
			"routes", strings.Join(odd, ","), "deployment", strings.Join(known, ","), "generation", l.Generation)
	}
}
