package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/data"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// seedSuffix ends the name of the backup that is made beside a join file.
const seedSuffix = ".seed"

// initFrom makes the join file of a deployment that goes on from a backup, or
// from the data directory of a host that is alone.
//
// Of a directory, the backup comes first, then the directory is marked as
// moved, then the join file is written: so at no instant can both begin, and
// after a crash the same command does the rest.
func (a *Commands) initFrom(ctx context.Context, from, out, name string, hosts, replicas int) error {
	if err := datadir.FreeForJoin(out); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return fault.New("usage/argument", "there is no backup and no data directory").At("--from").Got(from).Because(err)
	}
	// What can be refused is refused before anything is changed.
	if _, err := datadir.NewJoin(name, hosts, replicas, 1, ""); err != nil {
		return err
	}
	if !info.IsDir() {
		return a.joinFrom(ctx, from, out, name, hosts, replicas, func(string) error { return nil })
	}
	store, err := vault.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if store.Manifest.Mode != datadir.ModeSingle {
		return fault.New("cluster/mode", "the data directory is that of a host of a cluster").At(from).
			Want("grow it: loom cluster grow; or begin anew from a backup: loom backup, then --from FILE")
	}
	seed := out + seedSuffix
	if store.Manifest.Moved != "" { // an earlier call was interrupted, or its files are lost
		if err := os.Remove(seed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New("data/permissions", "the backup of an earlier call cannot be removed").At(seed).Because(err)
		}
	}
	if _, err := store.Backup(ctx, seed, false, time.Now()); err != nil {
		return err
	}
	return a.joinFrom(ctx, seed, out, name, hosts, replicas, store.Move)
}

// joinFrom writes the join file for a backup, after move has been told of it.
func (a *Commands) joinFrom(ctx context.Context, file, out, name string, hosts, replicas int, move func(seed string) error) error {
	contents, err := vault.Read(ctx, file)
	if err != nil {
		return err
	}
	seed := vault.Seed{File: file}
	id, err := seed.Name()
	if err != nil {
		return err
	}
	m := contents.About.Manifest
	join, err := datadir.NewJoin(name, hosts, replicas, m.Partitions, m.CEO)
	if err != nil {
		return err
	}
	epoch, lost := seed.Epoch(ctx, contents, data.Fence)
	join.Former = m.Former
	if join, err = join.Seeded(m.Deployment, m.Partitions, epoch, id); err != nil {
		return err
	}
	if err := move(id); err != nil {
		return err
	}
	if err := join.Write(out); err != nil {
		return err
	}
	return a.initialisedFrom(join, m, file, out, lost)
}

func (a *Commands) initialisedFrom(j datadir.Join, m datadir.Manifest, file, out string, lost []string) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"deployment": j.Deployment, "cluster": j.Cluster, "hosts": j.Hosts, "replicas": j.Replicas,
			"partitions": j.Partitions, "ceo": j.CEO, "file": out, "seed": file, "epoch": j.Epoch, "epoch_before": m.Epoch, "lost": lost,
		})
	}
	fmt.Fprintf(a.Out, "deployment %s goes on as cluster %s of %d hosts, %d replicas, in epoch %d after %d\n", j.Deployment, j.Cluster, j.Hosts, j.Replicas, j.Epoch, m.Epoch)
	fmt.Fprintf(a.Out, "on one host:    loom up --join %s --seed %s --cluster-listen HOST:PORT --routes HOST:PORT,...\n", suggest.Arg(out), suggest.Arg(file))
	fmt.Fprintf(a.Out, "on each other:  loom up --join %s --cluster-listen HOST:PORT --routes HOST:PORT,...\n", suggest.Arg(out))
	if m.Mode == datadir.ModeCluster {
		fmt.Fprintf(a.Out, "the directories of the hosts of before hold the deployment as it was: set them aside, and start none of them\n")
	}
	for _, l := range lost {
		fmt.Fprintf(a.Out, "not in the backup: %s\n", console.Printable(l))
	}
	_, err := fmt.Fprintf(a.Out, "whoever has %s can join: keep it like a key, and delete it when all hosts have joined\n", out)
	return err
}
