package broker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/store/datadir"
)

// Over returns a broker that runs nothing and whose core account is reached
// over nc.
func Over(dir *datadir.Dir, nc *nats.Conn) *Broker {
	js, err := jetstream.New(nc)
	if err != nil {
		panic(err)
	}
	return &Broker{
		config: Config{Dir: dir}.withDefaults(), log: slog.New(slog.DiscardHandler), workers: workers{made: map[string]bool{}},
		conns: map[string]*nats.Conn{core: nc}, js: map[string]jetstream.JetStream{core: js},
	}
}

// Idle returns a broker that runs nothing and reaches nobody.
func Idle(dir *datadir.Dir) *Broker {
	return &Broker{config: Config{Dir: dir}.withDefaults(), log: slog.New(slog.DiscardHandler)}
}

// Slowly is slowly.
func (b *Broker) Slowly(ctx context.Context, f func(context.Context) error) error {
	return b.slowly(ctx, "this is a test", f)
}

// RightsText returns the table of rights for people: a row for each family of
// subjects, a column for each kind of user.
func RightsText() string {
	examples := []struct {
		title string
		user  user
	}{
		{"anonymous", user{kind: anonymous}},
		{"publisher", user{kind: publisher, name: "NAME"}},
		{"publisher of PROJECT", user{kind: publisher, projects: []string{"project"}}},
		{"observer", user{kind: observer}},
		{"observer of PROJECT", user{kind: observer, projects: []string{"project"}}},
		{"operator", user{kind: operator}},
		{"CEO's way in", user{kind: ceo, name: "name"}},
		{"worker of ROLE", user{kind: worker, name: "name", roles: []string{"role"}}},
		{"host", user{kind: host, account: core}},
	}
	var rows []string
	cells := map[string]map[string]string{}
	for _, e := range examples {
		r := table[e.user.kind](e.user)
		for verb, list := range map[string][]string{"publish": r.publish, "read": r.subscribe} {
			for _, s := range list {
				if cells[s] == nil {
					cells[s], rows = map[string]string{}, append(rows, s)
				}
				cells[s][e.title] = verb
			}
		}
	}
	slices.Sort(rows)
	var b strings.Builder
	b.WriteString("| subject |")
	for _, e := range examples {
		fmt.Fprintf(&b, " %s |", e.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(examples)) + "\n| account |")
	for _, e := range examples {
		fmt.Fprintf(&b, " %s |", table[e.user.kind](e.user).account)
	}
	b.WriteString("\n")
	for _, s := range rows {
		fmt.Fprintf(&b, "| `%s` |", s)
		for _, e := range examples {
			word := cells[s][e.title]
			if table[e.user.kind](e.user).all {
				word = "all"
			}
			fmt.Fprintf(&b, " %s |", word)
		}
		b.WriteString("\n")
	}
	return b.String()
}
