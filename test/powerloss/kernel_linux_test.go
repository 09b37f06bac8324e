package powerloss

import (
	"math/rand/v2"
	"os"
	"testing"
)

// TestP2_ThePowerCanFailHere cuts the power of a disk through the kernel: what
// was synced is there. Where no file system can be mounted it says NOT RUN.
func TestP2_ThePowerCanFailHere(t *testing.T) {
	m := newMachine(t, "", own, rand.New(rand.NewPCG(1, 0)))
	if m == nil {
		return
	}
	f, err := os.Create(m.path("synced"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"durable", ", and not"} {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if text == "durable" {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(m.path("synced"), m.path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m.path("link"), m.path("tmp/moved")); err != nil {
		t.Fatal(err)
	}
	m.restart()
	data, err := os.ReadFile(m.path("synced"))
	if err != nil || len(data) < len("durable") || string(data[:len("durable")]) != "durable" {
		t.Errorf("after the cut: %q, %v", data, err)
	}
	if err := os.WriteFile(m.path("new"), data, 0o600); err != nil {
		t.Errorf("the disk cannot be written after the cut: %v", err)
	}
	t.Log("power loss: can be tested here")
}
