package host

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestROLE02_HostsAreListedWhileWhatIsWantedIsNotKnown: what is wanted of them
// is kept in a project, whose partition can be away.
func TestROLE02_HostsAreListedWhileWhatIsWantedIsNotKnown(t *testing.T) {
	h, err := Start(t.Context(), Config{
		Data: t.TempDir(), Model: scripted.New("nothing", func(*model.Request) (*model.Response, error) { return nil, nil }), CEOKey: filepath.Join(t.TempDir(), "ceo.nk"), Unsandboxed: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Stop(context.Background()) })
	away, cancel := context.WithCancel(t.Context())
	cancel()
	reply := h.services()["hosts"](away, service.Call{}).(*loomv1.HostsReply)
	if reply.Error != nil || reply.Unknown == nil || reply.Staffing != nil || len(reply.Hosts) != 1 || !reply.Hosts[0].Alive {
		t.Errorf("while the project is away: %v", reply)
	}
	if reply = h.services()["hosts"](t.Context(), service.Call{}).(*loomv1.HostsReply); reply.Unknown != nil || reply.Staffing == nil {
		t.Errorf("when it is there: %v", reply)
	}
}
