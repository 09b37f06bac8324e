package chaos

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestP3_ADamagedHostIsRepairedFromTheOthers kills one of three hosts, flips a
// bit in its journal, and has the command repair it: its start is refused by
// name before, and after it the host gets the journal back from the others,
// which take orders meanwhile.
func TestP3_ADamagedHostIsRepairedFromTheOthers(t *testing.T) {
	const name, before, meanwhile, after = "LOOM_J_00", 6, 4, 4
	f := newFleet(t, false)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.crowded(program)
	for i := range fleetSize {
		f.begin(i)
	}
	f.serve()
	f.define()
	ctx, cancel := context.WithTimeout(t.Context(), fleetPatience())
	defer cancel()
	placed := 0
	order := func(n int) {
		t.Helper()
		for range n {
			f.order(ctx, placed)
			placed++
		}
		for f.closed(ctx) < placed {
			if rest(ctx, 100*time.Millisecond); ctx.Err() != nil {
				t.Fatalf("%d of %d orders are done", f.closed(t.Context()), placed)
			}
		}
	}
	order(before)

	const hurt = 1
	f.host(hurt).kill()
	data := f.places[hurt].data
	block := filepath.Join(data, "jetstream", "CORE", "streams", name, "msgs", "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/3] ^= 8
	if err := os.WriteFile(block, text, 0o600); err != nil {
		t.Fatal(err)
	}
	order(meanwhile)
	refused := f.begin(hurt)
	if status := refused.wait(); status == fault.Done || !strings.Contains(refused.text(), name+": sequence") {
		t.Fatalf("the damaged host ends with %d, want a refusal that names a sequence of %s:\n%s", status, name, refused.text())
	}
	if now, err := os.ReadFile(block); err != nil || string(now) != string(text) {
		t.Errorf("the refused start has changed the block: %v", err)
	}
	out, err := exec.Command(loom, "cluster", "repair", "--data", data).CombinedOutput()
	if err != nil || !strings.Contains(string(out), name) {
		t.Fatalf("loom cluster repair: %v\n%s", err, out)
	}
	if kept, err := os.ReadFile(filepath.Join(data, "damaged", name+"-1", "msgs", "1.blk")); err != nil || string(kept) != string(text) {
		t.Errorf("the damaged journal is not kept: %v", err)
	}

	h := f.begin(hurt)
	h.serves()
	c := h.client()
	if !h.until(ctx, func() bool {
		reply, err := c.Host(ctx, &loomv1.HostRequest{})
		return err == nil && len(reply.Damage) == 0
	}) {
		t.Fatalf("the journal did not come back:\n%s", h.text())
	}
	order(after)
	out, err = exec.Command(loom, "verify", "--beside", "--data", data).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "everything is there and unaltered") {
		t.Errorf("loom verify of the repaired host: %v\n%s", err, out)
	}
}
