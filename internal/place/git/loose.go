package git

import (
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // what git names objects by
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

// small is the filter of objects that are sent in a pack. Larger ones are files of
// their own where they were made, already compressed: to pack and unpack 50 MB takes
// seconds, to copy them a tenth.
const small = "blob:limit=1m"

// transferLarge copies the large objects of revs as the files that they are. It
// reports whether a pack without them is enough then.
func transferLarge(ctx context.Context, from, to call, revs string) (apart bool, err error) {
	from.stdin = strings.NewReader(revs)
	out, err := from.run(ctx, "rev-list", "--objects", "--filter="+small, "--filter-print-omitted", "--stdin")
	if err != nil {
		return false, err
	}
	var large []string
	for line := range strings.Lines(string(out)) {
		if oid, ok := strings.CutPrefix(strings.TrimSpace(line), "~"); ok {
			large = append(large, oid)
		}
	}
	if len(large) == 0 || to.shares(ctx) {
		return false, nil
	}
	source, err := from.objects(ctx)
	if err != nil {
		return false, err
	}
	target, err := to.objects(ctx)
	if err != nil {
		return false, err
	}
	for _, oid := range large {
		err := copyLoose(source, target, oid)
		if errors.Is(err, fs.ErrNotExist) { // it is in a pack there: then all go in a pack
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// shares reports whether a repository's files have modes for several users, which git
// knows how to give.
func (c call) shares(ctx context.Context) bool {
	said, err := c.line(ctx, "config", "--get", "core.sharedRepository")
	return err != nil && exitCode(err) != 1 || said != ""
}

// objects returns the directory of a repository's objects.
func (c call) objects(ctx context.Context) (string, error) {
	return c.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
}

// copyLoose copies an object that is a file of its own, if its bytes are what its
// name says, and makes it durable. One that is there already is made young: git's
// maintenance removes old ones that no ref has.
func copyLoose(from, to, oid string) (err error) {
	name := filepath.Join(oid[:2], oid[2:])
	now := time.Now()
	if err := os.Chtimes(filepath.Join(to, name), now, now); err == nil {
		return nil
	}
	source, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer source.Close()
	if err := durable.MakeAll(filepath.Join(to, oid[:2]), 0o777); err != nil { // as git makes it
		return fault.New("git/failed", "an object cannot be written").Because(err)
	}
	copied, err := os.CreateTemp(to, "tmp_obj_") // what is left of it, git removes
	if err != nil {
		return fault.New("git/failed", "an object cannot be written").Because(err)
	}
	defer func() {
		copied.Close()
		if err != nil {
			_ = os.Remove(copied.Name())
		}
	}()
	if err := verified(source, copied, oid); err != nil {
		return err
	}
	if err := errors.Join(copied.Chmod(0o444), copied.Sync()); err != nil {
		return fault.New("git/failed", "an object cannot be written").Because(err)
	}
	return durable.Rename(copied.Name(), filepath.Join(to, name))
}

// verified copies a compressed object, and refuses one whose bytes are not what its
// name says.
func verified(source io.Reader, copied io.Writer, oid string) error {
	sum := sha1.New() //nolint:gosec // see above
	if len(oid) == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	unpacked, err := zlib.NewReader(io.TeeReader(source, copied))
	if err == nil {
		_, err = io.Copy(sum, unpacked)
	}
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != oid {
		err = errors.New("its bytes are others")
	}
	if err != nil {
		return fault.New("git/damaged", "object %s cannot be copied", oid).Because(err)
	}
	return nil
}
