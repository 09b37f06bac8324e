package workflow

import (
	"os/exec"
	"testing"
	"time"
)

func TestSlow(t *testing.T) {
	if exec.Command("true").Run() != nil {
		t.Skip("not here")
	}
	time.Sleep(time.Second)
}
