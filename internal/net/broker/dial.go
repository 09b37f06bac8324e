package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/store/datadir"
)

// hostFile tells local clients where the host is.
const hostFile = "host.json"

// Running is what a running host says about itself in its data directory.
type Running struct {
	Deployment string `json:"deployment"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	// URL is empty when the host does not listen.
	URL string `json:"url"`
	// Certificate is the file of the certificate that clients are shown; empty
	// when they connect without TLS.
	Certificate string `json:"certificate,omitempty"`
	// Authority is the file of who signs the servers' certificates, where the
	// host has no server of its own.
	Authority string    `json:"authority,omitempty"`
	Started   time.Time `json:"started"`
}

// announce writes the host file.
func (b *Broker) announce(context.Context) error {
	m := b.config.Dir.Manifest()
	r := Running{Deployment: m.Deployment, Host: m.Host, PID: os.Getpid(), URL: b.URL(), Started: time.Now().UTC()}
	if b.Secure() {
		r.Certificate = b.config.TLS.File()
	}
	if e := b.config.External; e != nil && e.Authority != "" {
		r.Authority = b.config.Dir.Path(authorityFile...)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("broker: host file: %w", err)
	}
	b.files = append(b.files, b.config.Dir.Path(hostFile))
	return b.config.Dir.WriteFile(append(data, '\n'), hostFile)
}

// retract removes the host file; one that stays is found out by connecting.
func (b *Broker) retract() {
	for _, f := range b.files {
		_ = os.Remove(f)
	}
}

// Find returns what the host that runs on the data directory says about
// itself, or host/not-running. After a crash the file may be stale.
func Find(dir string) (Running, error) {
	var r Running
	data, err := os.ReadFile(filepath.Join(dir, hostFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fault.New("host/not-running", "no host runs on the data directory").At(dir).Want("start one with: loom up")
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fault.New("host/not-running", "the host's file cannot be read").At(filepath.Join(dir, hostFile)).Because(err)
	}
	return r, nil
}

// Dial connects to the host that runs on the data directory, as its operator.
// It returns host/not-running when none answers or it does not listen.
func Dial(dir string) (*nats.Conn, error) {
	return dial(dir, user{kind: operator, name: "operator", inbox: "_INBOX_operator"})
}

// DialCEO connects to the account of signed commands. The connection proves
// nothing about the CEO: the signature of each command does.
func DialCEO(dir string) (*nats.Conn, error) {
	return dial(dir, user{kind: ceo, name: "ceo", inbox: "_INBOX_ceo"})
}

func dial(dir string, u user) (*nats.Conn, error) {
	running, err := Find(dir)
	if err != nil {
		return nil, err
	}
	if running.URL == "" {
		return nil, fault.New("host/not-running", "the host (process %d) does not listen", running.PID).At(dir)
	}
	u, err = readKey(filepath.Join(append([]string{dir}, file(u)...)...), u)
	if err != nil {
		return nil, err
	}
	options := append(u.options(), nats.Name("loom "+u.name), nats.MaxReconnects(-1))
	if running.Certificate != "" {
		trust, err := certificate.TrustExactly(running.Certificate)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(trust))
	}
	if running.Authority != "" {
		options = append(options, nats.RootCAs(running.Authority))
	}
	nc, err := nats.Connect(running.URL, options...)
	if err != nil {
		return nil, silent(dir, running, err)
	}
	return nc, nil
}

// silent says why a host cannot be reached: it is dead, and nobody has the directory, or
// it does not answer.
func silent(dir string, r Running, err error) error {
	if free, lockErr := datadir.OpenAtRest(dir); lockErr == nil {
		_ = free.Close()
		return fault.New("host/not-running", "the host (process %d) is dead: it ended without stopping, and nothing is lost by that", r.PID).At(dir).
			Want("start it again with: loom up --data %s", suggest.Arg(dir))
	}
	if suspended(r.PID) {
		return fault.New("host/not-running", "the host (process %d) is suspended (Ctrl-Z, SIGSTOP), and answers nobody until it goes on", r.PID).At(dir).
			Want("have it go on: fg in its terminal, or kill -CONT %d", r.PID)
	}
	return fault.New("host/not-running", "the host (process %d) does not answer at %s", r.PID, r.URL).At(dir).Because(err).
		Want("it may be suspended (kill -CONT %d has it go on) or this machine too busy; if it stays so, stop process %d and start the host again, which loses nothing", r.PID, r.PID)
}

// suspended says whether a process is stopped by a signal, as far as this system shows it.
func suspended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat, []byte(") ")) // behind the name, which may have anything in it
	return bytes.HasPrefix(state, []byte("T"))
}

// readKey gives u the key in a file.
func readKey(path string, u user) (user, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return u, fault.New("data/permissions", "the credentials cannot be read").At(path).Because(err)
	}
	u.seed = bytes.TrimSpace(data)
	pair, err := nkeys.FromSeed(u.seed)
	if err == nil {
		u.public, err = pair.PublicKey()
	}
	if err != nil || !nkeys.IsValidPublicUserKey(u.public) {
		return u, fault.New("data/permissions", "the credentials are not a user key").At(path)
	}
	return u, nil
}
