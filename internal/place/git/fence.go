package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// A fence is a ref whose blob holds the highest token that has begun to commit.
// It only rises. Whoever moves a branch requires, in the same transaction, that
// the fence still stands at his own token.

func fenceRef(deployment string) string { return "refs/loom/fence/" + deployment }

func fenceText(token uint64) string { return fmt.Sprintf("token %d\n", token) }

// Fence returns the highest token that has begun to commit for a deployment, 0
// for none yet.
func (r *Repository) Fence(ctx context.Context, deployment string) (uint64, error) {
	if err := checkTokens("deployment", deployment); err != nil {
		return 0, err
	}
	_, token, err := r.fence(ctx, deployment)
	return token, err
}

func (r *Repository) fence(ctx context.Context, deployment string) (oid string, token uint64, err error) {
	oid, err = resolve(ctx, r.git(), fenceRef(deployment))
	if err != nil || oid == "" {
		return "", 0, err
	}
	text, err := r.git().run(ctx, "cat-file", "blob", oid)
	if err != nil {
		return "", 0, err
	}
	if _, err := fmt.Sscanf(string(text), "token %d\n", &token); err != nil || string(text) != fenceText(token) {
		return "", 0, fault.New("git/damaged", "the fence holds no token").At(fenceRef(deployment)).Got(string(text))
	}
	return oid, token, nil
}

// raise brings the fence to token and returns the object it stands at. The
// same token again is fine; a higher one there gives git/fenced.
func (r *Repository) raise(ctx context.Context, deployment string, token uint64) (string, error) {
	if token == 0 {
		return "", fault.New("usage/argument", "a fencing token is at least 1")
	}
	mine, err := r.blob(ctx, fenceText(token))
	if err != nil {
		return "", err
	}
	for {
		oid, now, err := r.fence(ctx, deployment)
		switch {
		case err != nil:
			return "", err
		case now == token:
			return mine, nil
		case now > token:
			return "", fenced(token, now)
		}
		err = r.transact(ctx, "loom: token "+fmt.Sprint(token), set(fenceRef(deployment), mine, oid))
		if err == nil {
			return mine, nil
		}
		if moved, _, _ := r.fence(ctx, deployment); moved == oid {
			return "", err // not because somebody else was faster
		}
	}
}

// blob keeps a text as an object.
func (r *Repository) blob(ctx context.Context, text string) (string, error) {
	c := r.git()
	c.stdin = strings.NewReader(text)
	return c.line(ctx, "hash-object", "-w", "--stdin")
}

func fenced(token, now uint64) *fault.Error {
	return fault.New("git/fenced", "token %d has been overtaken by %d: another holder has begun to commit", token, now)
}

// refChange is one line of a reference transaction.
type refChange string

// set moves ref from old, which is "" when it must not exist, to oid.
func set(ref, oid, old string) refChange {
	if old == "" {
		return refChange("create " + ref + " " + oid)
	}
	return refChange("update " + ref + " " + oid + " " + old)
}

// stands requires ref to be at oid.
func stands(ref, oid string) refChange { return refChange("verify " + ref + " " + oid) }

// drop removes ref, which must be at old.
func drop(ref, old string) refChange { return refChange("delete " + ref + " " + old) }

// transact makes all changes or none, durably. Only one of them may write where
// a crash between two writes would matter.
func (r *Repository) transact(ctx context.Context, why string, changes ...refChange) error {
	if err := r.settled.objects(r.common); err != nil {
		return undurable(r.path, err)
	}
	if err := r.update(ctx, why, changes); err != nil {
		return err
	}
	if err := r.settled.references(r.common, names(changes)); err != nil {
		return undurable(r.path, err)
	}
	return nil
}

func undurable(path string, err error) error {
	return fault.New("git/failed", "what was written cannot be made durable").At(path).Because(plain(err))
}

// update makes all changes or none. Where a lock was in the way that a dead git
// has left, it tries once more.
func (r *Repository) update(ctx context.Context, why string, changes []refChange) error {
	r.unlock(names(changes))
	err := r.try(ctx, why, changes)
	if err != nil && r.unlock(names(changes)) {
		err = r.try(ctx, why, changes)
	}
	return err
}

// unlock removes what dead processes have left of locks on refs, and reports
// whether there was any.
func (r *Repository) unlock(refs []string) (was bool) {
	for _, ref := range refs {
		was = unlock(r.common, ref) || was
	}
	return was
}

func (r *Repository) try(ctx context.Context, why string, changes []refChange) error {
	var b strings.Builder
	b.WriteString("start\n")
	for _, c := range changes {
		b.WriteString(string(c) + "\n")
	}
	b.WriteString("prepare\ncommit\n")
	c := r.git()
	c.stdin = strings.NewReader(b.String())
	_, err := c.run(ctx, "update-ref", "-m", why, "--stdin")
	return err
}
