package datadir_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestP3_AnyFlippedBitOfAMembersFilesIsNamed goes through all bits of what a host
// of a cluster keeps to prove that it belongs there, and of the list of hosts.
func TestP3_AnyFlippedBitOfAMembersFilesIsNamed(t *testing.T) {
	longtest.Skip(t)
	j := newJoin(t)
	j.List = &membership.List{
		Format: 1, Lineage: "l", Generation: 3, Hosts: 3,
		Members: []membership.Member{{Host: "h-a", Key: "k"}}, Removed: []membership.Removed{{Host: "h-b", Key: "o"}},
	}
	d, err := datadir.Config{Path: t.TempDir(), Join: &j}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for name, read := range map[string]func() error{
		"member.json": func() error { _, err := d.Member(); return err },
		"hosts.json":  func() error { _, err := d.List(); return err },
	} {
		if err := read(); err != nil {
			t.Fatalf("%s, whole: %v", name, err)
		}
		sound, err := os.ReadFile(d.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(sound) {
			spoilt := bytes.Clone(sound)
			spoilt[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(d.Path(name), spoilt, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := read(); fault.Code(err) != "data/manifest" {
				t.Errorf("%s, bit %d of byte %d is flipped: %v, want data/manifest", name, bit%8, bit/8, err)
			}
		}
	}
}
