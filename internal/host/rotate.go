package host

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/ceokey"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// rotated records the CEO's new key in the deployment, once the project of the
// deployment itself has taken it: it is the one that projects begin with. Doing
// it again changes nothing.
func (h *Host) rotated(ctx context.Context, signed *loomv1.SignedCommand) error {
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(signed.Payload, cmd); err != nil || cmd.GetRotate() == nil || cmd.Project != project.System {
		return nil //nolint:nilerr // it was read before
	}
	public, err := ceokey.Public(cmd.GetRotate().PublicKey)
	if err != nil {
		return err
	}
	return h.broker.SetCEO(ctx, public)
}

// noteOpen puts on record that a port is open to the network without TLS.
func (h *Host) noteOpen(ctx context.Context) error {
	for _, address := range slices.Sorted(maps.Keys(h.Open())) {
		if h.Open()[address] {
			continue
		}
		note := &loomv1.NoteSecurity{What: "insecure-network", Detail: "port " + address + " is open to the network without TLS"}
		if err := h.do(ctx, project.System, &loomv1.Command{Body: &loomv1.Command_NoteSecurity{NoteSecurity: note}}); err != nil {
			return err
		}
	}
	return nil
}
