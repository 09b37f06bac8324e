// Package streamfile reads the files of a JetStream stream without a server,
// and changes nothing.
//
// A server that opens a damaged stream cuts it at the first record whose
// checksum is wrong, and says nothing. So whoever looks for damage must look
// before a server does. The package promises that each record it passes on has
// the checksum that the server gave it, and that every place where that is not
// so is named. It never writes, takes no lock, and may read beside a server.
// It knows the layout that nats-server 2.10 to 2.15 keeps on disk, unencrypted,
// and uncompressed or with S2, which is how Loom makes its streams.
package streamfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"

	"github.com/loomrun/loom/internal/base/fault"
)

// Stream is a stream's directory.
type Stream struct {
	dir  string
	name string
}

// Open returns the stream that is kept in dir, "STORE/ACCOUNT/streams/NAME".
// It returns data/stream-missing when there is none, and data/damaged when
// its description is not sound or of a kind that cannot be read.
func Open(dir string) (*Stream, error) {
	name := filepath.Base(dir)
	meta, err := os.ReadFile(filepath.Join(dir, "meta.inf"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New("data/stream-missing", "stream %s is missing", name).At(dir)
	}
	if err != nil {
		return nil, damaged(name, "its description cannot be read").Because(err)
	}
	if err := describe(dir, name, meta); err != nil {
		return nil, err
	}
	return &Stream{dir: dir, name: name}, nil
}

func damaged(stream, format string, args ...any) *fault.Error {
	return fault.New("data/damaged", "stream %s: %s", stream, fmt.Sprintf(format, args...)).At(stream)
}

// describe checks a stream's description against its sum and its directory.
func describe(dir, name string, meta []byte) error {
	sum, err := os.ReadFile(filepath.Join(dir, "meta.sum"))
	if err != nil {
		return damaged(name, "the sum of its description cannot be read").Because(err)
	}
	if string(sum) != Sum(name, meta) {
		return damaged(name, "its description is not the one that the server wrote")
	}
	var about struct {
		Name        string `json:"name"`
		Compression string `json:"compression"`
		Storage     string `json:"storage"`
	}
	switch err := json.Unmarshal(meta, &about); {
	case err != nil:
		return damaged(name, "its description is not JSON").Because(err)
	case about.Name != name:
		return damaged(name, "its description is that of %q", about.Name)
	case about.Compression != "" && about.Compression != "none" && about.Compression != "s2":
		return damaged(name, "it is compressed with %q, which cannot be read here", about.Compression)
	}
	return nil
}

// Consumers returns data/damaged, naming the consumer, unless the description
// of each durable consumer of the stream is the one that the server wrote. A
// server refuses the whole stream otherwise.
//
// A server writes description and sum one after the other, each whole, and
// removes a consumer file by file. So one of the two alone is what a kill leaves
// in the middle of that: no server takes it for a consumer, and nothing is lost.
func (s *Stream) Consumers() error {
	all, err := filepath.Glob(filepath.Join(s.dir, "obs", "*", "meta.inf"))
	if err != nil {
		return damaged(s.name, "its consumers cannot be listed").Because(err)
	}
	for _, file := range all {
		dir := filepath.Dir(file)
		meta, err1 := os.ReadFile(file)
		sum, err2 := os.ReadFile(filepath.Join(dir, "meta.sum"))
		if err1 == nil && errors.Is(err2, fs.ErrNotExist) && names(meta, filepath.Base(dir)) {
			continue
		}
		want := checksum(s.name+"/"+filepath.Base(dir), meta)
		if err := errors.Join(err1, err2); err != nil || string(sum) != hex.EncodeToString(want) {
			return damaged(s.name, "the description of its consumer %q is not the one that the server wrote", filepath.Base(dir)).Because(err).
				Want("remove %s, which is made anew", dir)
		}
	}
	return nil
}

// names says whether a description is that of a consumer, as a server wrote it.
func names(meta []byte, consumer string) bool {
	var about struct {
		Name string `json:"durable_name"`
	}
	return json.Unmarshal(meta, &about) == nil && about.Name == consumer
}

// Sum is what a server writes beside the description of the stream of that
// name: 16 hexadecimal digits.
func Sum(name string, description []byte) string {
	return hex.EncodeToString(checksum(name, description))
}

// checksum is the sum that a server gives data of the object that key names.
func checksum(key string, data []byte) []byte {
	digest := digestOf(key)
	_, _ = digest.Write(data)
	return digest.Sum(nil)
}

// digestOf makes the sums of the object that key names.
func digestOf(key string) hash.Hash {
	seed := sha256.Sum256([]byte(key))
	digest, err := highwayhash.NewDigest64(seed[:])
	if err != nil {
		panic("streamfile: a key of 32 bytes is refused: " + err.Error())
	}
	return digest
}

// Name returns the stream's name.
func (s *Stream) Name() string { return s.name }

// Blocks returns the numbers of the stream's blocks, sorted.
func (s *Stream) Blocks() ([]uint32, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "msgs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(s.name, "its blocks cannot be listed").Because(err)
	}
	var blocks []uint32
	for _, e := range entries {
		if number, ok := strings.CutSuffix(e.Name(), ".blk"); ok {
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				blocks = append(blocks, uint32(n))
			}
		}
	}
	slices.Sort(blocks)
	return blocks, nil
}

// Bytes returns how many bytes the stream's blocks have.
func (s *Stream) Bytes() int64 {
	blocks, _ := s.Blocks()
	var sum int64
	for _, n := range blocks {
		if info, err := os.Stat(s.block(n)); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

func (s *Stream) block(number uint32) string {
	return filepath.Join(s.dir, "msgs", strconv.FormatUint(uint64(number), 10)+".blk")
}
