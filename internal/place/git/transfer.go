package git

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unpacker says how objects arrive.
type unpacker []string

var (
	// asPack keeps them in one pack: all at once, for many objects.
	asPack = unpacker{"index-pack", "--stdin", "--fix-thin"}
	// asLoose writes them one by one, for a few: the repository's own
	// maintenance packs them some day. Cut short, it is simply repeated.
	asLoose = unpacker{"unpack-objects", "-q"}
)

// transfer copies the history of want, as far as have does not have it, from
// one repository to another. No transport, no hook and no remote is involved,
// and nothing but objects is written.
func transfer(ctx context.Context, from, to call, how unpacker, want []string, have ...string) error {
	revs := strings.Join(want, "\n") + "\n"
	for _, oid := range have {
		revs += "^" + oid + "\n"
	}
	filter := "--no-filter"
	if slices.Equal(how, asLoose) {
		apart, err := transferLarge(ctx, from, to, revs)
		if err != nil {
			return err
		}
		if apart {
			filter = "--filter=" + small
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	sent := make(chan error, 1)
	go func() {
		sent <- from.pack(ctx, revs, write, filter)
		write.Close()
	}()
	to.stdin = read
	_, err = to.run(ctx, how...)
	read.Close() // a packer whose reader has gone ends
	if packed := <-sent; err == nil || exitCode(packed) > 0 {
		return packed // what the receiver says then is only that the pack is short
	}
	return err
}

// pack writes a pack of what revs name to out.
func (c call) pack(ctx context.Context, revs string, out io.Writer, filter string) error {
	c.stdin = strings.NewReader(revs)
	return c.into(ctx, out, "pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q", filter)
}

// into is run with standard output going to out.
func (c call) into(ctx context.Context, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit(args[0]))
	defer cancel()
	cmd := c.command(ctx, args)
	stderr := &bounded{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	return c.explain(ctx, args, cmd.Run(), stderr)
}

// copyShallow makes to end its history where from ends it.
func copyShallow(from, to string) error {
	data, err := os.ReadFile(filepath.Join(from, "shallow"))
	if os.IsNotExist(err) {
		err = os.Remove(filepath.Join(to, "shallow"))
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "shallow"), data, 0o600)
}
