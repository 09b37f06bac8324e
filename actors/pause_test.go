package actors_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// order presents a signed command of the CEO's.
func (r *rig) order(nonce string, cmd *loomv1.CeoCommand) {
	r.t.Helper()
	now := time.Now()
	cmd.Deployment, cmd.Project, cmd.Nonce = "dp-1", "shop", nonce
	cmd.IssuedAt, cmd.NotAfter = timestamppb.New(now), timestamppb.New(now.Add(time.Hour))
	payload, err := proto.Marshal(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.must(&loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "ceo"},
		Body: &loomv1.Command_Signed{Signed: &loomv1.SignedCommand{
			Payload: payload, PublicKey: "U", Signature: ed25519.Sign(ceoKey, keyring.SignedBytes(payload)),
		}},
	})
}

func (r *rig) pause() {
	r.t.Helper()
	r.order("pause", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT, Reason: "freeze"}}})
}

func (r *rig) resume() {
	r.t.Helper()
	r.order("resume", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT, Reason: "go on"}}})
}

// An agent at work is told of a pause when it wants to begin the next step; it
// gives the attempt back, and somebody goes on when the work is resumed. What
// was filed meanwhile begins then, after a restart of the host, too.
func TestWF09_AgentsGiveBackWhatIsPausedAndGoOnWhenItIsResumed(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restarts), func(t *testing.T) {
			r := newRig(t).start().register("shop", "researcher")
			began, paused := make(chan struct{}), make(chan struct{})
			first := true
			work := func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
				if first {
					first = false
					close(began)
					<-paused
				}
				start := turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}})
				if err := s.Record(ctx, start); err != nil {
					return nil, err
				}
				return done(ctx, b, s)
			}
			pools := r.agents("researcher", 1, work)
			one := r.must(file("shop", "k1")).GetSubmit().Bead
			<-began
			r.pause()
			close(paused)
			e := r.await("the attempt given back", isReleased)
			if why := e.GetClaimReleased().Reason; !strings.Contains(why, "held") {
				t.Errorf("given back because %q", why)
			}
			two := r.must(file("shop", "k2")).GetSubmit().Bead
			if n := count(r.events(), func(e *loomv1.Event) bool { return e.Bead == two && e.GetAttemptDispatched() != nil }); n != 0 {
				t.Errorf("%d attempts of %s were dispatched while it was paused", n, two)
			}
			if restarts {
				pools.Stop()
				r.stop()
				r.start()
				r.agents("researcher", 1, work)
			}
			r.resume()
			r.ended(one)
			r.ended(two)
			if n := count(r.events(), func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil }); n != 2 {
				t.Errorf("%d attempts ended, want one for each bead", n)
			}
		})
	}
}

// What can be of no project is refused all the same, and that is recorded.
func TestWF09_ACommandForNoProjectIsOnRecord(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	for what, tt := range map[string]struct {
		payload proto.Message
		want    string
	}{
		"another project": {&loomv1.CeoCommand{Project: "bank", Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Reason: "r"}}}, "project/unknown"},
		"nonsense":        {nil, "command/malformed"},
	} {
		payload := []byte("\xff\xff\xff")
		if tt.payload != nil {
			var err error
			if payload, err = proto.Marshal(tt.payload); err != nil {
				t.Fatal(err)
			}
		}
		n := len(r.events())
		answer := r.projects.Decide(r.ctx, &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: what}, &loomv1.SignedCommand{Payload: payload})
		wantCode(t, what, fault.FromProto(answer.GetError()), tt.want)
		all := r.events()[n:]
		if len(all) != 1 || all[0].Project != project.System || all[0].GetCommandRefused() == nil || all[0].Actor.GetName() != what {
			t.Errorf("%s: recorded as %v", what, all)
		}
	}
}
