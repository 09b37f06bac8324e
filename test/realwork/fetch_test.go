//go:build realwork

package realwork

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/place/git"
)

// archive is a source archive in a registry.
type archive struct {
	url string
	// sum is the checksum as the registry writes it: "h1:" and the sum of a module's
	// files for Go, "sha512-" and the integrity for npm, "sha256:" for Debian.
	sum string
	// top is the directory that all files are in; it is cut off.
	top string
}

// errAway says that a registry did not answer.
var errAway = errors.New("the registry is away")

// mostBytes is the largest archive, and the largest file in one.
const mostBytes = 64 << 20

// fetch returns the files of the archive. It fails with errAway when the registry
// cannot be reached or is out of order; what it gives must have the checksum.
func (a archive) fetch(ctx context.Context) ([]git.File, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	data, err := download(ctx, a.url)
	if err != nil {
		return nil, err
	}
	files, err := unpack(a.url, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.url, err)
	}
	if got := sumOf(a.sum, data, files); got != a.sum {
		return nil, fmt.Errorf("%s has the checksum %s, want %s", a.url, got, a.sum)
	}
	for i, f := range files {
		path, ok := strings.CutPrefix(f.Path, a.top+"/")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not in %q", a.url, f.Path, a.top)
		}
		files[i].Path = path
	}
	return files, nil
}

// away is what package managers print where a registry cannot be reached or is out
// of order.
var away = regexp.MustCompile(`\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|E429|E5\d\d)\b`)

// prepare runs what the user of a clone runs in it by hand. It fails with errAway
// when a registry cannot be reached.
func (r repository) prepare(ctx context.Context, clone string) error {
	if r.byHand == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", r.byHand)
	cmd.Dir, cmd.WaitDelay = clone, time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case away.Match(out) || ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", errAway, r.byHand, err)
	}
	return fmt.Errorf("%s: %w\n%s", r.byHand, err, out)
}

func download(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	defer reply.Body.Close()
	switch {
	case reply.StatusCode >= 500 || reply.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: %s: %s", errAway, url, reply.Status)
	case reply.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", url, reply.Status)
	}
	data, err := io.ReadAll(io.LimitReader(reply.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errAway, url, err)
	}
	return data, nil
}

// unpack returns the files of a zip or of a tar that gzip has packed.
func unpack(name string, data []byte) ([]git.File, error) {
	if strings.HasSuffix(name, ".zip") {
		return unzip(data)
	}
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var files []git.File
	for in := tar.NewReader(plain); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		switch head.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return nil, fmt.Errorf("%q is no regular file", head.Name)
		}
		content, err := io.ReadAll(io.LimitReader(in, mostBytes))
		if err != nil {
			return nil, err
		}
		files = append(files, git.File{Path: head.Name, Data: content, Exec: head.Mode&0o100 != 0})
	}
}

func unzip(data []byte) ([]git.File, error) {
	all, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var files []git.File
	for _, f := range all.File {
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(in, mostBytes))
		in.Close()
		if err != nil {
			return nil, err
		}
		files = append(files, git.File{Path: f.Name, Data: content})
	}
	return files, nil
}

// sumOf returns the checksum of an archive in the notation of the one that is
// wanted.
func sumOf(want string, data []byte, files []git.File) string {
	switch {
	case strings.HasPrefix(want, "h1:"):
		return "h1:" + moduleSum(files)
	case strings.HasPrefix(want, "sha512-"):
		sum := sha512.Sum512(data)
		return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// moduleSum is what go.sum has for a module: the sum over the names and sums of its
// files.
func moduleSum(files []git.File) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b git.File) int { return strings.Compare(a.Path, b.Path) })
	all := sha256.New()
	for _, f := range sorted {
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(f.Data), f.Path)
	}
	return base64.StdEncoding.EncodeToString(all.Sum(nil))
}
