package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// mark is what a change's commit is known by.
type mark struct{ execution, patch string }

// made is what a commit of ours says and, in digest, what it really holds.
type made struct {
	trailers
	tree, parent      string
	author, committer string // "NAME <ADDRESS>"
	digest            string
}

// mark gives the zero mark, which is nobody's, for a commit whose trailers do
// not tell the truth about its content.
func (m made) mark() mark {
	if m.patch != m.digest {
		return mark{}
	}
	return mark{m.execution, m.digest}
}

// inspect reads a commit. One without exactly one parent is not ours and gives
// no digest, nor does one at which a shallow history ends.
func (r *Repository) inspect(ctx context.Context, oid string) (made, error) {
	raw, err := r.git().run(ctx, "cat-file", "commit", oid)
	if err != nil {
		return made{}, err
	}
	head, message, _ := strings.Cut(string(raw), "\n\n")
	m := made{trailers: readTrailers(message)}
	var parents []string
	for _, line := range strings.Split(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			m.tree = value
		case "parent":
			parents = append(parents, value)
		case "author":
			m.author = withoutTime(value)
		case "committer":
			m.committer = withoutTime(value)
		}
	}
	if len(parents) != 1 {
		return m, nil
	}
	m.parent = parents[0]
	if r.cutAt(oid) {
		return m, nil
	}
	p, err := readPatch(ctx, r.git(), m.parent, oid)
	m.digest = p.digest()
	return m, err
}

// withoutTime is who a line of a commit names.
func withoutTime(line string) string { return line[:strings.LastIndexByte(line, '>')+1] }

// cutAt reports whether a shallow history ends at a commit.
func (r *Repository) cutAt(oid string) bool {
	return slices.Contains(strings.Fields(readFile(filepath.Join(r.common, "shallow"))), oid)
}

// marked returns the commit after from, in the history of to, that carries a
// mark, or "".
func (r *Repository) marked(ctx context.Context, want mark, from, to string) (string, error) {
	if from == to {
		return "", nil
	}
	if known, err := resolve(ctx, r.git(), from+"^{commit}"); err != nil || known == "" {
		return "", err
	}
	out, err := r.git().run(ctx, "rev-list", "--fixed-strings", "--grep=Loom-Execution: "+want.execution, to, "^"+from)
	if err != nil {
		return "", err
	}
	for _, oid := range strings.Fields(string(out)) {
		m, err := r.inspect(ctx, oid)
		if err != nil {
			return "", err
		}
		if m.mark() == want {
			return oid, nil
		}
	}
	return "", nil
}

// signing returns the call that makes a commit, and the flag that signs it, if
// the registered repository itself asks for signed commits. Key and program
// are read from there one by one; the home directory is the user's for this
// one call, because keys live in it.
func (m mirror) signing(ctx context.Context) (call, []string, error) {
	c := m.git()
	wanted, err := m.repo.local(ctx, "--local", "commit.gpgSign")
	if err != nil || !isTrue(wanted) {
		return c, nil, err
	}
	for _, key := range []string{"user.signingKey", "gpg.format", "gpg.program", "gpg.ssh.program", "gpg.x509.program"} {
		value, err := m.repo.local(ctx, "--local", key)
		if err != nil {
			return c, nil, err
		}
		if value != "" {
			c.config = append(c.config, key+"="+value)
		}
	}
	if len(c.config) == 0 || !strings.HasPrefix(c.config[0], "user.signingKey=") {
		return c, nil, fault.New("git/unsupported", "the repository wants signed commits but names no user.signingKey of its own").
			Want("set user.signingKey in the repository, or commit.gpgSign to false")
	}
	for _, name := range []string{"HOME", "GNUPGHOME", "SSH_AUTH_SOCK"} {
		if value, ok := os.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	return c, []string{"-S"}, nil
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}
