package broker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
)

// system is the server's own account, in which the hosts that keep streams are
// counted. Only the hosts of a cluster come into it.
const system = "SYS"

const (
	countSubject = "$SYS.REQ.SERVER.PING.JSZ"
	evictSubject = "$JS.API.SERVER.REMOVE"
	evictWithin  = 20 * time.Second
	// notCounted and changing are the server's words for a host that is none of
	// those that keep streams, and for another change that is under way.
	notCounted = 10044
	changing   = 10202
)

// counted returns the names of the hosts that the streams' servers count,
// sorted; the leader of their configuration knows.
func (b *Broker) counted(ctx context.Context) (names []string, err error) {
	err = transient.Retry(ctx, transient.Election, func(ctx context.Context) error {
		names, err = b.countedNow(ctx)
		return err
	})
	if err != nil {
		return nil, b.noQuorum(err)
	}
	return names, nil
}

func (b *Broker) countedNow(ctx context.Context) ([]string, error) {
	reply, err := b.conns[system].RequestWithContext(ctx, countSubject, []byte(`{"leader_only": true}`))
	if err != nil {
		return nil, err
	}
	var said struct {
		Data server.JSInfo `json:"data"`
	}
	if err := json.Unmarshal(reply.Data, &said); err != nil || said.Data.Meta == nil {
		return nil, errors.Join(fmt.Errorf("nobody says who keeps streams: %w", transient.ErrAgain), err)
	}
	names := []string{said.Data.Meta.Leader}
	for _, r := range said.Data.Meta.Replicas {
		names = append(names, b.nameOf(r.Name))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// evict has the streams' servers count a host no more, and returns when they do
// not. It may be done again.
func (b *Broker) evict(ctx context.Context, host string) error {
	request, err := json.Marshal(server.JSApiMetaServerRemoveRequest{Server: host, Peer: nodeOf(host)})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return b.patiently(ctx, "host "+host+" is still counted", func(ctx context.Context) error {
		names, err := b.countedNow(ctx)
		if err != nil || !slices.Contains(names, host) {
			return err
		}
		reply, err := b.conns[system].RequestWithContext(ctx, evictSubject, request)
		if err != nil {
			return err
		}
		var said server.JSApiMetaServerRemoveResponse
		if err := json.Unmarshal(reply.Data, &said); err != nil {
			return fault.New("host/unavailable", "the answer about host %s is not understood", host).Because(err)
		}
		if e := said.Error; e != nil && e.ErrCode != notCounted && e.ErrCode != changing {
			return fault.New("host/unavailable", "host %s cannot be taken out", host).Because(e)
		}
		return fmt.Errorf("it is counted: %w", transient.ErrAgain) // until it is seen not to be
	})
}

// nodeOf is the id by which the servers count the host of a name.
func nodeOf(host string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(host))
	id := make([]byte, 8)
	for i := range id {
		id[i] = digits[int(sum[i])%len(digits)]
	}
	return string(id)
}

// nameOf returns the name of a host of which a server that has not met it since
// its start knows the id alone.
func (b *Broker) nameOf(said string) string {
	_, id, unknown := strings.Cut(said, "peerID: ")
	if !unknown {
		return said
	}
	id = strings.TrimSuffix(id, ")")
	list := b.Members()
	for _, m := range list.Members {
		if nodeOf(m.Host) == id {
			return m.Host
		}
	}
	for _, r := range list.Removed {
		if nodeOf(r.Host) == id {
			return r.Host
		}
	}
	return said
}
