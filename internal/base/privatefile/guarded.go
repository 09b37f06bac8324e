package privatefile

import (
	"io/fs"
	"os"

	"github.com/loomrun/loom/internal/base/fault"
)

// Guarded looks at a file that holds a secret, without reading it. It refuses with
// data/permissions one that is away, that is no file, which it says first, and one that
// others than its owner can read: what names the secret, and seen is what to do about it
// beside a chmod.
func Guarded(what, path, seen string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fault.New("data/permissions", "%s cannot be read", what).At(path).Because(err)
	case info.IsDir():
		return nil, fault.New("data/permissions", "%s is a file, and this is a directory", what).At(path)
	case !info.Mode().IsRegular():
		return nil, fault.New("data/permissions", "%s is a file, and this is none", what).At(path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fault.New("data/permissions", "%s can be read by others (mode %04o)", what, info.Mode().Perm()).At(path).Want("chmod 600 it, and %s", seen)
	}
	return info, nil
}
