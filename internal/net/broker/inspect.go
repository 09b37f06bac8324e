package broker

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/storecheck"
)

// slowCheck is from when on a check is worth a line in the log.
const slowCheck = time.Second

// inspect reads the files of all truth streams before the server opens them,
// and refuses what is damaged: a server that rebuilds a stream would cut it at
// the first bad record, and say nothing.
func (b *Broker) inspect(ctx context.Context) error {
	pass, err := b.config.pass()
	if err != nil {
		return err
	}
	report, err := pass.Run(ctx)
	if err != nil {
		return fault.New("host/unavailable", "the stored streams were not read in time").Because(err)
	}
	if report.Took > slowCheck {
		b.log.Info("stored streams checked", "bytes", report.Bytes, "took", report.Took.Round(time.Millisecond))
	}
	return report.Err()
}

// Check reads the files of all truth streams beside the server and says what is
// damaged, as far as the server has written. It blocks while it reads, some
// seconds a GiB, and changes nothing. On servers that somebody else runs there
// are no files to read, and the report is empty.
func (b *Broker) Check(ctx context.Context) (storecheck.Report, error) {
	if b.config.External != nil {
		return storecheck.Report{}, nil
	}
	pass, err := b.config.pass()
	if err != nil {
		return storecheck.Report{}, err
	}
	pass.Beside = true
	return pass.Run(ctx)
}

// pass is what there is to check. What other hosts have acknowledged need not
// be in the files of this one, so marks count where a host is alone.
func (c Config) pass() (storecheck.Pass, error) {
	marks, _, err := headmark.Read(c.Dir.Path(headmark.Name))
	if err != nil {
		return storecheck.Pass{}, err
	}
	p := storecheck.Pass{Path: c.Dir.Path(), Advice: advice(c.Dir.Manifest())}
	for _, s := range c.streams() {
		if s.truth && s.config.Storage == jetstream.FileStorage {
			p.Streams = append(p.Streams, storecheck.Stream{Account: s.account, Name: s.config.Name})
		}
	}
	for partition := range c.Dir.Manifest().Partitions {
		for i := range p.Streams {
			if s := &p.Streams[i]; s.Name == natsjournal.Stream(partition) {
				s.Journal = true
				if !c.clustered() {
					s.Mark = marks[partition]
				}
			}
		}
	}
	return p, nil
}

// advice says what would be right where a stream is damaged.
func advice(m datadir.Manifest) string {
	if m.Mode == datadir.ModeCluster {
		return "the other hosts have it whole: with this host stopped, loom cluster repair takes the damaged files aside, and the next start fetches them anew"
	}
	return "keep this directory; restore a backup into another, or what is sound of this one: loom backup --salvage --to FILE"
}
