package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/storecheck"
)

const (
	// AsideDir is the part of a data directory where damaged streams are kept.
	AsideDir = "damaged"
	// awaitedFile, in it, lists the streams that come back from the other hosts.
	awaitedFile = "awaited.json"
)

// Aside is a damaged stream that was taken out of a host's store.
type Aside struct {
	Stream string `json:"stream"`
	Path   string `json:"path"` // where it is kept
	Why    string `json:"why"`  // what is damaged
}

// Repair reads the streams of a host of a cluster that is stopped, and takes out
// of its store those that are damaged: they are moved, nothing is deleted. When
// the host is started the server fetches them whole from the other hosts, and
// [Broker.Restored] tells when that is done. Without damage nothing is changed,
// so a repair that was interrupted is safe to repeat.
//
// It returns data/lone, and changes nothing, where the host is alone and has
// damage: nobody else has the stream.
func Repair(ctx context.Context, dir *datadir.Dir) (list []Aside, err error) {
	config := Config{Dir: dir}.withDefaults()
	pass, err := config.pass()
	if err != nil {
		return nil, err
	}
	report, err := pass.Run(ctx)
	if err != nil || len(report.Damage) == 0 {
		return nil, err
	}
	if !config.clustered() {
		return nil, fault.New("data/lone", "this host is alone: nobody else has what is damaged").Because(report.Err()).
			Want("restore a backup into another directory (loom restore), or what is sound of this one (loom backup --salvage --to FILE); nothing was changed")
	}
	awaited, err := awaitedIn(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range report.Damage {
		awaited[d.Stream] = d.Err.Message
	}
	// It is awaited before it is moved: a stream that is missing and not awaited
	// would say nothing.
	if err := await(dir, awaited); err != nil {
		return nil, err
	}
	for _, d := range report.Damage {
		aside, err := setAside(dir, pass, d)
		if err != nil {
			return list, err
		}
		list = append(list, aside)
	}
	return list, nil
}

// setAside moves the files of a stream to a place that is free.
func setAside(dir *datadir.Dir, pass storecheck.Pass, d storecheck.Damage) (Aside, error) {
	for _, s := range pass.Streams {
		if s.Name != d.Stream {
			continue
		}
		from := dir.Path("jetstream", s.Account, "streams", s.Name)
		for n := 1; ; n++ {
			to := dir.Path(AsideDir, fmt.Sprintf("%s-%d", s.Name, n))
			if _, err := os.Lstat(to); err == nil {
				continue
			}
			if err := durable.Rename(from, to); err != nil {
				return Aside{}, fault.New("data/damaged", "the damaged stream %s cannot be moved aside", s.Name).At(from).Because(err)
			}
			return Aside{Stream: s.Name, Path: to, Why: d.Err.Message}, nil
		}
	}
	return Aside{}, fault.New("data/damaged", "the damaged stream %s has no files", d.Stream)
}

// awaitedIn returns what is awaited from the other hosts: why, by stream.
func awaitedIn(dir *datadir.Dir) (map[string]string, error) {
	list := map[string]string{}
	text, err := os.ReadFile(dir.Path(AsideDir, awaitedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		text, err = privatefile.Whole(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fault.New("data/damaged", "the list of streams that are awaited from other hosts cannot be read").
			At(filepath.Join(AsideDir, awaitedFile)).Because(err).Want("remove it, and run loom verify once the host has caught up")
	}
	return list, nil
}

func await(dir *datadir.Dir, list map[string]string) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := durable.MakeAll(dir.Path(AsideDir), 0o700); err != nil {
		return err
	}
	return dir.WriteFile(privatefile.Summed(text), AsideDir, awaitedFile)
}

// Awaited returns the streams that this host gets back from the others after a
// repair, each with why, until [Broker.Restored] has found them whole.
func (b *Broker) Awaited() (map[string]string, error) { return awaitedIn(b.config.Dir) }

// Restored reads each stream that is awaited, once this host's replica has all
// that the stream's leader has, to its end, journals by their chain. Those that
// are whole are no longer awaited, and returned. The report is of those that
// came back damaged.
func (b *Broker) Restored(ctx context.Context) (whole []string, bad storecheck.Report, err error) {
	awaited, err := b.Awaited()
	if err != nil || len(awaited) == 0 {
		return nil, bad, err
	}
	pass, err := b.config.pass()
	if err != nil {
		return nil, bad, err
	}
	var there []storecheck.Stream
	for _, s := range pass.Streams {
		if _, ok := awaited[s.Name]; ok && b.caughtUp(ctx, s) {
			there = append(there, s)
		}
	}
	pass.Streams, pass.Beside = there, true
	if bad, err = pass.Run(ctx); err != nil {
		return nil, bad, err
	}
	damaged := map[string]bool{}
	for _, d := range bad.Damage {
		damaged[d.Stream] = true
	}
	for _, s := range there {
		if !damaged[s.Name] {
			whole = append(whole, s.Name)
			delete(awaited, s.Name)
		}
	}
	if len(whole) == 0 {
		return nil, bad, nil
	}
	return whole, bad, await(b.config.Dir, awaited)
}

// caughtUp says whether this host's files have all of a stream that its leader
// has. What the replicas' own protocol calls current is not enough: it counts
// what was agreed before the files were taken out.
func (b *Broker) caughtUp(ctx context.Context, s storecheck.Stream) bool {
	info, err := b.js[s.Account].Stream(ctx, s.Name)
	if err != nil {
		return false
	}
	led := info.CachedInfo().State
	own, err := b.server.Jsz(&server.JSzOptions{Account: s.Account, Streams: true})
	if err != nil {
		return false
	}
	for _, account := range own.AccountDetails {
		for _, is := range account.Streams {
			if is.Name == s.Name {
				same := is.State.FirstSeq == led.FirstSeq && is.State.LastSeq == led.LastSeq
				return is.State.LastSeq >= led.LastSeq && is.State.FirstSeq <= max(led.FirstSeq, 1) && (!same || is.State.Msgs == led.Msgs)
			}
		}
	}
	return false
}
