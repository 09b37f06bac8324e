package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// patience is how long a command of the stories waits for an event.
const patience = 3 * time.Minute

// waitHost waits until a host answers on $DATA, or on the directory given.
func waitHost() {
	dir := os.Getenv("DATA")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	give(untilAnswers(ctx, dir))
}

// untilAnswers waits until a host answers on a data directory.
func untilAnswers(ctx context.Context, dir string) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		err := answers(ctx, dir)
		if err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("no host on %s: %w", dir, err)
		}
	}
}

func answers(ctx context.Context, dir string) error {
	c, err := client.Dial(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Host(ctx, &loomv1.HostRequest{})
	return err
}

// await waits for an event on $DATA whose kind and summary match a pattern, and
// prints them. With -project it looks at one project only.
func await() {
	project := flag.String("project", "", "")
	flag.Parse()
	pattern := regexp.MustCompile(flag.Arg(0))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(os.Getenv("DATA"))
	give(err)
	seen := errors.New("seen")
	err = c.Follow(ctx, &loomv1.NoticesRequest{Project: *project}, true, func(n *loomv1.Notice) error {
		text := n.Kind + " " + n.Summary
		if !pattern.MatchString(text) {
			return nil
		}
		fmt.Println(text)
		return seen
	})
	if !errors.Is(err, seen) {
		give(fmt.Errorf("no event like %q: %w", pattern, err))
	}
}

// addresses prints so many addresses where hosts of a cluster can meet.
func addresses() {
	n, err := strconv.Atoi(os.Args[1])
	give(err)
	fmt.Println(strings.Join(brokertest.Addresses(n), ","))
}

// waitFile waits until a file, which another process writes, matches a pattern.
func waitFile() {
	pattern := regexp.MustCompile(os.Args[2])
	look, end := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		data, _ := os.ReadFile(os.Args[1])
		if pattern.Match(data) {
			return
		}
		select {
		case <-look.C:
		case <-end:
			give(fmt.Errorf("%s has no %q but\n%s", os.Args[1], pattern, data))
		}
	}
}

// stranger connects to the host on $DATA as anybody may: without credentials.
// What the server refuses ends the command.
func stranger() *nats.Conn {
	running, err := broker.Find(os.Getenv("DATA"))
	give(err)
	refused := func(_ *nats.Conn, _ *nats.Subscription, err error) { give(err) }
	nc, err := nats.Connect(running.URL, nats.NoReconnect(), nats.ErrorHandler(refused))
	give(err)
	return nc
}

// letter reads what a publisher sends: publish|request [flags] SUBJECT FILE.
func letter() *nats.Msg {
	kind := flag.String("type", "application/json", "content type; empty sends none")
	id := flag.String("id", "", "message id")
	flag.Parse()
	data, err := os.ReadFile(flag.Arg(1))
	give(err)
	msg := nats.NewMsg(flag.Arg(0))
	msg.Data = data
	if *kind != "" {
		msg.Header.Set("Content-Type", *kind)
	}
	if *id != "" {
		msg.Header.Set(nats.MsgIdHdr, *id)
	}
	return msg
}

// publish publishes a file to a stream and prints which.
func publish() {
	msg := letter()
	js, err := jetstream.New(stranger())
	give(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ack, err := js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	give(err)
	fmt.Println("stored in", ack.Stream)
}

// request sends a file to a service and prints the answer.
func request() {
	answer, err := stranger().RequestMsg(letter(), patience)
	give(err)
	fmt.Println(string(answer.Data))
}

// subscribe tries to subscribe, and prints what the server says to that.
func subscribe() {
	nc := stranger()
	_, err := nc.SubscribeSync(os.Args[1])
	give(err)
	give(nc.Flush())
	give(nc.LastError())
	fmt.Println("subscribed")
}

// setAside prints what was set aside on $DATA, where no host may run: subject,
// code and place of each message, in order.
func setAside() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir, err := datadir.Open(os.Getenv("DATA"))
	give(err)
	b, err := broker.Start(ctx, broker.Config{Dir: dir})
	give(err)
	js, err := jetstream.New(b.Core())
	give(err)
	stream, err := js.Stream(ctx, "DLQ")
	give(err)
	for seq := range stream.CachedInfo().State.LastSeq {
		msg, err := stream.GetMsg(ctx, seq+1)
		give(err)
		m := &loomv1.SetAside{}
		give(proto.Unmarshal(msg.Data, m))
		fmt.Println(m.Subject, m.Error.Code, m.Error.Where)
	}
	give(errors.Join(b.Close(ctx), dir.Close()))
}

// refused waits until the host on $DATA does not let credentials in any more,
// or never did: refused FILE.
func refused() {
	look, end := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		running, err := broker.Find(os.Getenv("DATA"))
		give(err)
		c, err := client.Open(client.Place{Credentials: os.Args[1], URL: running.URL})
		if fault.Code(err) == "request/denied" {
			return
		}
		if err == nil {
			c.Close()
		}
		select {
		case <-look.C:
		case <-end:
			give(fmt.Errorf("%s is still let in: %w", os.Args[1], err))
		}
	}
}

// keyRefused serves a model's protocol where every key is refused, and writes its
// address into a file: FILE.
func keyRefused() {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	give(err)
	give(os.WriteFile(os.Args[1], []byte("http://"+at.Addr().String()+"\n"), 0o600))
	give(http.Serve(at, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // it ends with the story
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintln(w, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	})))
}

// waitAgents waits until a role has so many agents in all: ROLE N.
func waitAgents() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(os.Getenv("DATA"))
	if err != nil {
		give(err)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		reply, err := c.Hosts(ctx, &loomv1.HostsRequest{})
		if err != nil {
			give(err)
		}
		for _, r := range cluster.AgentsInAll(reply) {
			if r.Role == os.Args[1] && fmt.Sprint(r.Actual) == os.Args[2] {
				return
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			give(fmt.Errorf("there are not %s agents of role %s: %v", os.Args[2], os.Args[1], cluster.AgentsInAll(reply)))
		}
	}
}

// until runs a command, which is harmless to repeat, until what it prints
// matches a pattern: what one host was told, the others hear of soon.
func until() {
	pattern := regexp.MustCompile(os.Args[1])
	look, end := time.NewTicker(100*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		out, err := exec.Command(os.Args[2], os.Args[3:]...).CombinedOutput() //nolint:gosec // of a story
		if err == nil && pattern.Match(out) {
			fmt.Printf("%s", out)
			return
		}
		select {
		case <-look.C:
		case <-end:
			give(fmt.Errorf("%q prints no %q but\n%s%w", os.Args[2:], pattern, out, err))
		}
	}
}
