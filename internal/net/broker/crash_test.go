package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestMain lets the test binary stand in for a host: with LOOM_SERVE set it
// runs a broker on that directory, publishes tasks and handles them, and
// prints what was acknowledged and what was handled, until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv("LOOM_SERVE")
	if path == "" {
		os.Exit(m.Run())
	}
	fmt.Println(serveTasks(context.Background(), path))
	os.Exit(1)
}

func serveTasks(ctx context.Context, path string) error {
	dir, err := datadir.Open(path)
	if err != nil {
		return err
	}
	b, err := broker.Start(ctx, broker.Config{Dir: dir})
	if err != nil {
		return err
	}
	go func() {
		_ = b.ConsumeTasks(ctx, func(_ context.Context, task broker.Task) error {
			fmt.Printf("handled %s %s\n", task.ID, task.Data)
			return nil
		})
	}()
	for i := 0; ; i++ {
		name := fmt.Sprintf("%d-%d", dir.Manifest().Starts, i)
		if _, err := b.Edge().Request("loom.v1.task.p", []byte(name), 5*time.Second); err != nil {
			return err
		}
		fmt.Println("acked -", name)
	}
}

// TestSUB01_KillLosesNoAcknowledgedTask kills a host again and again: every
// task that its publisher saw acknowledged is handled, and one that is handled
// again has the id that it had.
func TestSUB01_KillLosesNoAcknowledgedTask(t *testing.T) {
	path := t.TempDir()
	acked, handled := map[string]bool{}, map[string]string{}
	note := func(line string) {
		var what, id, name string
		if n, _ := fmt.Sscan(line, &what, &id, &name); n != 3 {
			t.Fatalf("the host says %q", line)
		}
		if what == "acked" {
			acked[name] = true
			return
		}
		if before, ok := handled[name]; ok && before != id {
			t.Errorf("task %s was handled as %s and again as %s", name, before, id)
		}
		handled[name] = id
	}
	for round := range 4 {
		killHost(t, path, 50+31*round, note)
	}
	b, _ := start(t, path, broker.Config{})
	left := pending(t, b, "TASKS")
	for _, task := range consume(t, b, func(int, broker.Task) error { return nil }).wait(t, int(left)) {
		note("handled " + task.ID + " " + string(task.Data))
	}
	for name := range acked {
		if handled[name] == "" {
			t.Errorf("task %s was acknowledged and never handled", name)
		}
	}
	if len(acked) < 50 {
		t.Errorf("only %d tasks were acknowledged", len(acked))
	}
}

// killHost runs a host, notes n lines that it prints, and kills it.
func killHost(t *testing.T, path string, n int, note func(string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_SERVE="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for i := 0; ; i++ {
		line, err := r.ReadString('\n')
		if err != nil {
			break // killed; half a line counts for nothing
		}
		note(strings.TrimSpace(line))
		if i == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the host ended by itself")
	}
}

// TestOPS01_AKillDuringTheFirstStartIsNoDamage kills a host while it creates
// its streams. The next one goes on where it was, and so does the one after it.
func TestOPS01_AKillDuringTheFirstStartIsNoDamage(t *testing.T) {
	longtest.Skip(t)
	midway := 0
	for _, name := range []string{"CORE/streams/LOOM_J_00", "CORE/streams/LOOM_J_01/meta.inf", "CORE/streams/DLQ", "CORE/streams/OBJ_LOOM_BLOB", "TASKS/streams/TASKS"} {
		path := t.TempDir()
		killWhen(t, path, filepath.Join(path, "jetstream", name))
		dir, err := datadir.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if m := dir.Manifest(); len(m.Truth) == 0 && len(m.Intended) > 0 {
			midway++
		}
		_ = dir.Close()
		for range 2 {
			if err := reopen(t, path, broker.Config{}); err != nil {
				t.Errorf("killed when it had made %s: Start: %v", name, err)
			}
		}
	}
	if midway == 0 {
		t.Error("no kill came while streams were being created")
	}
}

// killWhen runs a host on a fresh directory and kills it when a file appears.
func killWhen(t *testing.T, path, file string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_SERVE="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(file); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}
