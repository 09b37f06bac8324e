package natswire

import (
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// replies is where answers come back, each by a token of its own.
type replies struct {
	nc     *nats.Conn
	prefix string
	sub    *nats.Subscription

	mu      sync.Mutex
	newest  uint64
	waiting map[string]func(*nats.Msg)
}

func listen(nc *nats.Conn) (*replies, error) {
	r := &replies{nc: nc, prefix: nc.NewInbox() + ".", waiting: map[string]func(*nats.Msg){}}
	var err error
	r.sub, err = nc.Subscribe(r.prefix+"*", r.heard)
	return r, err
}

// expect returns the subject for answers, and f is called with each of them
// until forget is called with it. f must not block.
func (r *replies) expect(f func(*nats.Msg)) (reply string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest++
	token := strconv.FormatUint(r.newest, 36)
	r.waiting[token] = f
	return r.prefix + token
}

func (r *replies) forget(reply string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, strings.TrimPrefix(reply, r.prefix))
}

func (r *replies) heard(m *nats.Msg) {
	r.mu.Lock()
	f := r.waiting[strings.TrimPrefix(m.Subject, r.prefix)]
	r.mu.Unlock()
	if f != nil {
		f(m)
	}
}

// nobody says whether m is the server's word that nobody listens there.
func nobody(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header.Get("Status") == "503"
}
