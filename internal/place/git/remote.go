package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// remote is the repository that work lands on when a project names one. It is
// fenced as the registered one is, by a ref of its own; what is known of it
// is kept in the registered repository, under refs/loom/remote.
type remote struct {
	name, url string
}

// WithRemote returns the repository as one whose target is a branch of a remote:
// candidates are made on the remote's newest commit, landing pushes first, and
// the registered repository follows. The name is a remote's of the registered
// repository's own configuration, or else a URL or a path.
//
// It returns git/unsupported for a name that is neither, for a transport that
// starts programs of its own, and for a repository with a pre-push hook, which
// Loom would not run. Nothing is asked of the remote yet.
func (r *Repository) WithRemote(ctx context.Context, name string) (*Repository, error) {
	url, err := r.remoteURL(ctx, name)
	if err != nil {
		return nil, err
	}
	hook := filepath.Join(r.common, "hooks", "pre-push")
	if path, err := r.hooksPath(ctx); err != nil {
		return nil, err
	} else if path != "" {
		hook = filepath.Join(path, "pre-push")
		if !filepath.IsAbs(path) {
			hook = filepath.Join(r.top(), path, "pre-push")
		}
	}
	if info, err := os.Stat(hook); err == nil && info.Mode()&0o111 != 0 {
		return nil, fault.New("git/unsupported", "the repository has a pre-push hook, which is not run when Loom pushes").At(r.path).
			Want("make it a hook of the remote, or of commits")
	}
	with := *r
	with.remote = &remote{name, url}
	return &with, nil
}

func (r *Repository) remoteURL(ctx context.Context, name string) (string, error) {
	bad := fault.New("git/unsupported", "this is no remote that work can land on").Got(name).
		Want("the name of a remote of the repository, a path, or an ssh or https address")
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\r\n") {
		return "", bad
	}
	url := name
	if !strings.ContainsAny(name, "/:") {
		var err error
		for _, key := range []string{"pushurl", "url"} {
			if url, err = r.local(ctx, "--local", "remote."+name+"."+key); err != nil || url != "" {
				break
			}
		}
		if err != nil || url == "" {
			return "", bad
		}
	}
	if strings.HasPrefix(url, "-") || strings.Contains(url, "::") {
		return "", bad
	}
	if !strings.Contains(url, ":") && !filepath.IsAbs(url) {
		url = filepath.Join(r.path, url) // as git takes it
	}
	return url, nil
}

// credentials are the variables by which a call on a remote may prove who it
// is. No other call has them.
var credentials = []string{"HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS"}

// pushTimeout bounds one exchange with a remote.
const pushTimeout = 5 * time.Minute

// talk returns a call of the registered repository that may talk to a remote.
func (r *Repository) talk() call {
	c := r.git()
	c.timeout = pushTimeout
	c.config = []string{
		"protocol.file.allow=always", "protocol.ssh.allow=always", "protocol.https.allow=always", "protocol.http.allow=always",
		"core.sshCommand=ssh -o BatchMode=yes", "push.followTags=false", "push.recurseSubmodules=no", "push.gpgSign=false",
		"fetch.recurseSubmodules=no", "fetch.writeCommitGraph=false", "remote.pushDefault=",
	}
	for _, name := range credentials {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	return c
}

// remoteRef is where the registered repository keeps what a ref of the remote
// was when it was last asked.
func remoteRef(ref string) string { return "refs/loom/remote/" + strings.TrimPrefix(ref, "refs/") }

// fetched brings refs of the remote here and returns what they are, "" for one
// that does not exist.
func (r *Repository) fetched(ctx context.Context, refs ...string) ([]string, error) {
	out, err := r.talk().run(ctx, append([]string{"ls-remote", "--quiet", "--", r.remote.url}, refs...)...)
	if err != nil {
		return nil, r.unreachable(err)
	}
	at := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if f := strings.Fields(line); len(f) == 2 {
			at[f[1]] = f[0]
		}
	}
	oids := make([]string, len(refs))
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--force", "--", r.remote.url}
	plain := len(args)
	for i, ref := range refs {
		if oids[i] = at[ref]; oids[i] == "" {
			continue
		}
		if known, err := resolve(ctx, r.git(), remoteRef(ref)); err != nil || known != oids[i] {
			args = append(args, "+"+ref+":"+remoteRef(ref))
		}
	}
	if len(args) > plain {
		if _, err := r.talk().run(ctx, args...); err != nil {
			return nil, r.unreachable(err)
		}
	}
	for i, ref := range refs {
		if oids[i] == "" {
			continue
		}
		// It may have moved between the two questions: what came is what counts.
		if oids[i], err = resolve(ctx, r.git(), remoteRef(ref)); err != nil {
			return nil, err
		}
	}
	return oids, nil
}

func (r *Repository) unreachable(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fault.New("git/remote", "the remote %q cannot be reached: %s", r.remote.name, first)
}

// The fence of a remote is moved by every push that lands, too, so that the
// remote itself compares it in the transaction that moves the target: git does
// not send what does not change.

func moveText(token uint64, moves int) string {
	if moves == 0 {
		return fenceText(token)
	}
	return fmt.Sprintf("token %d move %d\n", token, moves)
}

// far is a remote's fence as it stood.
type far struct {
	oid   string
	token uint64
	moves int
}

func (r *Repository) farFence(ctx context.Context, oid string) (far, error) {
	if oid == "" {
		return far{}, nil
	}
	text, err := r.git().run(ctx, "cat-file", "blob", oid)
	if err != nil {
		return far{}, err
	}
	f := far{oid: oid}
	if n, _ := fmt.Sscanf(string(text), "token %d move %d\n", &f.token, &f.moves); n < 1 || string(text) != moveText(f.token, f.moves) {
		return far{}, fault.New("git/damaged", "the remote's fence holds no token").Got(string(text))
	}
	return f, nil
}

// refPush is one ref of a push: it must be at old, "" for absent, and shall be
// at oid.
type refPush struct{ ref, oid, old string }

// push moves all refs of the remote or none. It returns git/push-refused when
// the remote says no, also because a ref is not at old; after git/remote they
// may have moved, since the answer may have been lost.
func (r *Repository) push(ctx context.Context, refs ...refPush) error {
	args := []string{"push", "--quiet", "--atomic"}
	for _, p := range refs {
		args = append(args, "--force-with-lease="+p.ref+":"+p.old)
	}
	args = append(args, "--", r.remote.url)
	for _, p := range refs {
		args = append(args, p.oid+":"+p.ref)
	}
	_, err := r.talk().run(ctx, args...)
	if err != nil && strings.Contains(err.Error(), "[remote rejected]") {
		return fault.New("git/push-refused", "the remote %q does not take the commit", r.remote.name).Because(err)
	}
	if err != nil {
		return r.unreachable(err)
	}
	return nil
}

// pushTries is how often a push is tried whose outcome is not known.
const pushTries = 3

// deliver makes sure that the commit is on the remote's target, moved under the
// remote's fence at the token, and returns it, or the copy of it that is there.
// After a push that went wrong the remote is asked, because the answer alone may
// have been lost; if it is tried again, then with the same commit.
func (l *landing) deliver(ctx context.Context) (string, error) {
	var last error
	for n := 0; ; n++ {
		there, fence, err := l.askRemote(ctx)
		switch {
		case there != "" || err != nil && fault.Code(err) != "git/remote":
			return there, err
		case n == pushTries || fault.Code(last) == "git/push-refused":
			return "", cmp.Or(last, err)
		case err != nil:
			last = err
			continue
		}
		if last = l.send(ctx, fence); last == nil {
			l.step("pushed")
		}
	}
}

// askRemote returns the commit if the remote's target has it. Else it returns
// the remote's fence if a push could go through, and if not, why.
func (l *landing) askRemote(ctx context.Context) (there string, fence far, err error) {
	at, err := l.fetched(ctx, l.ref, fenceRef(l.req.Deployment))
	if err != nil {
		return "", far{}, err
	}
	l.step("remote asked")
	if there, err = l.copyOn(ctx, remoteRef(l.ref)); there != "" || err != nil {
		return there, far{}, err
	}
	if fence, err = l.farFence(ctx, at[1]); err != nil {
		return "", far{}, err
	}
	if fence.token > l.req.Token {
		return "", far{}, fenced(l.req.Token, fence.token)
	}
	l.heads.tip = at[0]
	return "", fence, l.verify(ctx)
}

// send raises the remote's fence to the token and then moves fence and target in
// one push.
func (l *landing) send(ctx context.Context, fence far) error {
	name := fenceRef(l.req.Deployment)
	if fence.token < l.req.Token {
		raised, err := l.blob(ctx, moveText(l.req.Token, 0))
		if err != nil {
			return err
		}
		if err := l.push(ctx, refPush{name, raised, fence.oid}); err != nil {
			return err
		}
		fence = far{raised, l.req.Token, 0}
		l.step("remote fence raised")
	}
	moved, err := l.blob(ctx, moveText(l.req.Token, fence.moves+1))
	if err != nil {
		return err
	}
	return l.push(ctx, refPush{l.ref, l.commit, l.heads.tip}, refPush{name, moved, fence.oid})
}

// newest returns the remote's newest commit of a branch: what it was when it was
// last asked, if it does not answer now.
func (r *Repository) newest(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	at, err := r.fetched(ctx, ref)
	if fault.Code(err) == "git/remote" {
		if known, knownErr := r.resolve(ctx, remoteRef(ref)); known != "" || knownErr != nil {
			return known, knownErr
		}
	}
	if err != nil {
		return "", err
	}
	if at[0] == "" {
		return "", fault.New("git/unknown-branch", "the remote %q has no such branch", r.remote.name).Got(branch).
			Want("push it there first")
	}
	return at[0], nil
}
