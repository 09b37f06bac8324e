package repomap

import (
	"encoding/binary"
	"errors"
)

// Version is that of what [Read] finds and of how [Outline.Encode] writes it.
// It is raised with every change of either.
const Version = 1

var errEncoding = errors.New("this is no outline")

// Encode writes the outline compactly, for [Decode] of the same [Version].
func (o Outline) Encode() []byte {
	var w []byte
	flag := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	text := func(s string) {
		w = binary.AppendUvarint(w, uint64(len(s)))
		w = append(w, s...)
	}
	tally := func(list []Count) {
		w = binary.AppendUvarint(w, uint64(len(list)))
		before := uint32(0)
		for _, c := range list {
			w = binary.AppendUvarint(w, uint64(c.Hash-before))
			w = binary.AppendUvarint(w, uint64(c.N))
			before = c.Hash
		}
	}
	w = binary.AppendUvarint(w, flag(o.Dull))
	w = binary.AppendUvarint(w, uint64(len(o.Symbols)))
	for _, s := range o.Symbols {
		w = binary.AppendUvarint(w, uint64(s.Kind)<<1|flag(s.Local))
		w = binary.AppendUvarint(w, uint64(s.Line))
		text(s.Name)
		text(s.Signature)
	}
	w = binary.AppendUvarint(w, uint64(len(o.Imports)))
	for _, m := range o.Imports {
		text(m)
	}
	tally(o.Refs)
	tally(o.Words)
	return w
}

// Decode reads what Encode wrote. Anything else is an error, never a panic and
// never more memory than a small multiple of the data.
func Decode(data []byte) (o Outline, err error) {
	d := decoder{left: data}
	o.Dull = d.number() == 1
	for range d.length(maxSymbols) {
		k := d.number()
		o.Symbols = append(o.Symbols, Symbol{Kind: Kind(k >> 1 & 3), Local: k&1 == 1, Line: int(min(d.number(), MaxSource+1)), Name: d.text(), Signature: d.text()})
	}
	for range d.length(maxImports) {
		o.Imports = append(o.Imports, d.text())
	}
	o.Refs, o.Words = d.counts(maxRefs), d.counts(maxWords)
	if d.bad || len(d.left) > 0 {
		return Outline{}, errEncoding
	}
	return o, nil
}

type decoder struct {
	left []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.left)
	if size <= 0 {
		d.bad, d.left = true, nil
		return 0
	}
	d.left = d.left[size:]
	return n
}

// length is the number of entries that follow; each has a byte at least.
func (d *decoder) length(most int) int {
	n := d.number()
	if n > uint64(most) || n > uint64(len(d.left)) {
		d.bad, d.left = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.left)) {
		d.bad, d.left = true, nil
		return ""
	}
	s := string(d.left[:n])
	d.left = d.left[n:]
	return s
}

func (d *decoder) counts(most int) []Count {
	n := d.length(most)
	if n == 0 {
		return nil
	}
	list, before := make([]Count, n), uint64(0)
	for i := range list {
		step := d.number()
		if before += step; before > 1<<32-1 || i > 0 && step == 0 {
			d.bad = true
			return nil
		}
		list[i] = Count{uint32(before), uint16(min(d.number(), 1<<16-1))}
	}
	return list
}
