package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/loomrun/loom/internal/place/repomap"
)

// Bounds of a project's file in bytes: at the first it is written anew with what
// the newest map used, if that is less than half, and over the second always.
const (
	worthPacking = 4 << 20
	maxShelf     = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shelf is a project's file: a head that names the version, then records of
// length, checksum, key and outline. New ones are added at the end. Damaged ones
// are passed over; nothing of a file of another version is read.
type shelf struct {
	path    string // empty: nothing is kept
	size    int    // of what can be read, in bytes
	records map[string][]byte
	fresh   []string // keys that the file does not have
	damaged bool
}

func head() string { return fmt.Sprintf("loom outlines %d\n", repomap.Version) }

// load reads a project's file as far as it is sound.
func load(path string) *shelf {
	s := &shelf{path: path}
	if info, err := os.Stat(path); err != nil || info.Size() > maxShelf {
		s.damaged = err == nil
		return s
	}
	data, err := os.ReadFile(path)
	rest, ok := bytes.CutPrefix(data, []byte(head()))
	if err != nil || !ok {
		s.damaged = true
		return s
	}
	s.size, s.records = len(data), map[string][]byte{}
	for len(rest) >= 8 {
		n, sum := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if uint64(n) > uint64(len(rest)-8) {
			break
		}
		body := rest[8 : 8+n]
		rest = rest[8+n:]
		keyLen, size := binary.Uvarint(body)
		if crc32.Checksum(body, castagnoli) != sum || size <= 0 || keyLen > uint64(len(body)-size) {
			s.damaged = true
			continue
		}
		s.records[string(body[size:size+int(keyLen)])] = body[size+int(keyLen):]
	}
	s.damaged = s.damaged || len(rest) > 0
	return s
}

func (s *shelf) get(key string) ([]byte, bool) {
	data, ok := s.records[key]
	return data, ok
}

func (s *shelf) put(key string, data []byte) {
	if s.path == "" {
		return
	}
	if s.records == nil {
		s.records = map[string][]byte{}
	}
	s.records[key] = data
	s.fresh = append(s.fresh, key)
}

// save writes what is new, and the whole file anew where much of it is of no use
// or it is damaged. What cannot be written is made again another time.
func (s *shelf) save(used map[string]bool) {
	if s.path == "" {
		return
	}
	var added []byte
	for _, k := range s.fresh {
		added = s.append(added, k)
	}
	total, kept := s.size+len(added), 0
	for k := range used {
		kept += len(s.records[k])
	}
	if s.size == 0 || s.damaged || total > maxShelf || total > worthPacking && kept < total/2 {
		s.rewrite(used)
		return
	}
	if len(added) == 0 {
		return
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(added)
}

// rewrite writes what was used, and of the rest as much as half the bound holds.
func (s *shelf) rewrite(used map[string]bool) {
	if len(s.records) == 0 && !s.damaged {
		return
	}
	out := []byte(head())
	for _, wanted := range []bool{true, false} {
		bound := maxShelf - 8<<20
		if !wanted {
			bound = max(2*len(out), worthPacking/2)
		}
		for _, k := range slices.Sorted(maps.Keys(s.records)) {
			if used[k] == wanted && len(out)+len(s.records[k])+len(k)+32 < bound {
				out = s.append(out, k)
			}
		}
	}
	if os.MkdirAll(filepath.Dir(s.path), 0o700) != nil {
		return
	}
	draft := s.path + ".draft"
	if os.WriteFile(draft, out, 0o600) != nil || os.Rename(draft, s.path) != nil {
		_ = os.Remove(draft)
	}
}

func (s *shelf) append(out []byte, key string) []byte {
	body := binary.AppendUvarint(nil, uint64(len(key)))
	body = append(append(body, key...), s.records[key]...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(body, castagnoli))
	return append(out, body...)
}
