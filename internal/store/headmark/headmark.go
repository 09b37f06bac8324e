// Package headmark remembers, outside the journals, how far they reached: a
// small file of marks in the data directory, for the day a journal ends before
// what was acknowledged, or holds something else there.
//
// It promises that a mark was true when it was made, that a mark on the disk
// survives a crash at any instant, and that an altered line of the file is
// never read as a mark. It never delays an append: marks are written by a
// goroutine of their own, at most once in a while, so the newest batches of a
// host that is killed may be without one.
package headmark

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
)

// Name is what the file is called in a data directory.
const Name = "heads"

// Mark is what is known of a partition's journal.
type Mark struct {
	Partition int
	// Head is the newest batch that was seen to be acknowledged.
	Head journal.Head
	// Cut is the newest batch that was cut off the beginning for good, or the
	// zero Head. Its epoch is not kept.
	Cut journal.Head
}

// table is the polynomial of the lines' checksums.
var table = crc32.MakeTable(crc32.Castagnoli)

// line is a mark as it stands in the file: fields, and a checksum over them.
func (m Mark) line() string {
	text := fmt.Sprintf("v1 %d %d %d %s %d %s", m.Partition, m.Head.Epoch, m.Head.Sequence, hash(m.Head), m.Cut.Sequence, hash(m.Cut))
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), table))
}

func hash(h journal.Head) string {
	if len(h.Hash) == 0 {
		return "-"
	}
	return hex.EncodeToString(h.Hash)
}

// parse reads what line wrote, without the end of the line.
func parse(text string) (Mark, error) {
	fields, sum, ok := cutLast(text)
	if !ok || sum != fmt.Sprintf("%08x", crc32.Checksum([]byte(fields), table)) {
		return Mark{}, errors.New("its checksum is wrong")
	}
	var m Mark
	var head, cut string
	if _, err := fmt.Sscanf(fields, "v1 %d %d %d %s %d %s", &m.Partition, &m.Head.Epoch, &m.Head.Sequence, &head, &m.Cut.Sequence, &cut); err != nil {
		return Mark{}, err
	}
	var err1, err2 error
	m.Head.Hash, err1 = unhash(head)
	m.Cut.Hash, err2 = unhash(cut)
	return m, errors.Join(err1, err2)
}

func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

func unhash(s string) ([]byte, error) {
	if s == "-" {
		return nil, nil
	}
	return hex.DecodeString(s)
}

// Marks are the newest marks, by partition.
type Marks map[int]Mark

// add takes a mark in where it is newer than the one that is there.
func (ms Marks) add(m Mark) {
	old, ok := ms[m.Partition]
	if !ok {
		ms[m.Partition] = m
		return
	}
	if newer(m.Head, old.Head) {
		old.Head = m.Head
	}
	if m.Cut.Sequence > old.Cut.Sequence {
		old.Cut = m.Cut
	}
	ms[m.Partition] = old
}

// newer says whether a is later than b in the life of one journal.
func newer(a, b journal.Head) bool {
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Sequence > b.Sequence
}

// Read returns the newest marks of the file at path and how many of its lines
// are not marks: damaged ones, or the last when a write was cut off. Without a
// file there are no marks.
func Read(path string) (marks Marks, unsound int, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Marks{}, 0, nil
	}
	if err != nil {
		return nil, 0, fault.New("data/permissions", "the marks of the journals cannot be read").At(path).Because(err)
	}
	marks, unsound = decode(data)
	return marks, unsound, nil
}

func decode(data []byte) (marks Marks, unsound int) {
	marks = Marks{}
	for text := range bytes.Lines(data) {
		m, err := parse(strings.TrimSuffix(string(text), "\n"))
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			unsound++
			continue
		}
		marks.add(m)
	}
	return marks, unsound
}

// encode returns the lines of marks, by partition.
func encode(marks Marks) []byte {
	var b bytes.Buffer
	for p := range 1 << 10 {
		if m, ok := marks[p]; ok {
			b.WriteString(m.line())
		}
	}
	return b.Bytes()
}
