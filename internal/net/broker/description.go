package broker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/store/streamfile"
)

// completeDescriptions writes the checksums that a kill left unwritten.
//
// A server writes a stream's description, meta.inf, and then its checksum,
// meta.sum, each whole: when it makes the stream, and when its limits change. At
// a start it takes a stream without the right checksum for none. Asked to make
// the stream, it finds a description there and writes neither file, so it takes
// messages, and the start after that takes the stream for none again, with all
// that is in it (nats-server 2.10 to 2.15, newFileStoreWithCreated).
//
// So what is missing is written before the server looks. Only a description
// that the table of streams asks for gets its checksum: any other is no rest of
// a kill, and refused as a missing stream.
func (b *Broker) completeDescriptions() error {
	for _, s := range b.config.streams() {
		if s.config.Storage != jetstream.FileStorage {
			continue
		}
		if err := b.completeDescription(s); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) completeDescription(s stream) error {
	name := s.config.Name
	path := b.config.Dir.Path("jetstream", s.account, "streams", name, "meta.")
	description, err := os.ReadFile(path + "inf")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a server makes the stream and writes both files
	}
	if err != nil {
		return unreadable(path+"inf", err)
	}
	sum, err := os.ReadFile(path + "sum")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(path+"sum", err)
	}
	want := streamfile.Sum(name, description)
	if string(sum) == want || !s.describedBy(description) {
		return nil
	}
	b.log.Warn("an earlier start was killed while it described a stream, which is completed", "stream", name)
	if err := privatefile.Replace(path+"sum", []byte(want)); err != nil {
		return fault.New("data/permissions", "the description of stream %s cannot be completed", name).At(path + "sum").Because(err)
	}
	return nil
}

func unreadable(path string, err error) error {
	return fault.New("data/permissions", "a stream's description cannot be read").At(path).Because(err)
}

// describedBy says whether a description is the one that the table has, or
// differs only in what a start adjusts.
func (s stream) describedBy(description []byte) bool {
	var have jetstream.StreamConfig
	if err := json.Unmarshal(description, &have); err != nil {
		return false
	}
	return !slices.ContainsFunc(differences(s.config, have), func(f string) bool { return !adjustable[f] })
}
