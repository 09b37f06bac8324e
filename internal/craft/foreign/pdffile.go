package foreign

import (
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"io"

	"github.com/loomrun/loom/internal/base/fault"
)

// pdfFile finds the objects of a pdf. It goes through the file once, from its beginning, and
// does not heed the tables that say where objects are: they are what is wrong in a damaged
// file, and of two objects of one number the later is the one that counts.
type pdfFile struct {
	work     *pdfWork
	at       map[int][]byte // where objects begin, in the file or in a stream of objects
	trailer  pdfDict        // of the file's trailers, the newest values
	catalog  pdfRef         // the last one that is seen
	unpacked int
}

const maxObjects = 1_000_000 // of a pdf

// findObjects goes through a file.
func findObjects(data []byte, work *pdfWork) *pdfFile {
	f := &pdfFile{work: work, at: map[int][]byte{}, trailer: pdfDict{}}
	for at := 0; at < len(data) && work.spend(1); {
		i := bytes.Index(data[at:], []byte("obj"))
		end := len(data)
		if i >= 0 {
			end = at + i
		}
		work.spend((end - at) / 64)
		f.trailers(data[at:end])
		if i < 0 {
			break
		}
		number, ok := numberBefore(data[at:end])
		if at = end + len("obj"); !ok {
			continue
		}
		if f.at[number] = data[at:]; len(f.at) > maxObjects {
			work.err = fault.New("document/limit", "the pdf has more than %d objects", maxObjects)
			return f
		}
		v, length := f.parse(data[at:])
		at += length
		switch v := v.(type) {
		case pdfStream:
			f.stream(v)
		case pdfDict:
			if v["Type"] == pdfName("Catalog") {
				f.catalog = pdfRef(number)
			}
		}
	}
	return f
}

// numberBefore is the number of the object that begins behind data: "12 0 " before "obj".
func numberBefore(data []byte) (int, bool) {
	at := len(data)
	back := func(in func(byte) bool, most int) []byte {
		end := at
		for at > 0 && end-at < most && in(data[at-1]) {
			at--
		}
		return data[at:end]
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	back(pdfSpace, 20)
	generation := back(digit, 5)
	gap := back(pdfSpace, 20)
	digits := back(digit, 9)
	if len(generation) == 0 || len(gap) == 0 || len(digits) == 0 {
		return 0, false
	}
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n, true
}

// trailers takes the trailers of a stretch between objects.
func (f *pdfFile) trailers(data []byte) {
	for {
		_, rest, found := bytes.Cut(data, []byte("trailer"))
		if !found {
			return
		}
		l := &pdfLexer{data: rest, work: f.work, refs: true}
		if v, _ := l.next(); v != nil {
			if dict, ok := v.(pdfDict); ok {
				f.trail(dict)
			}
		}
		data = rest[min(l.at, len(rest)):]
	}
}

func (f *pdfFile) trail(dict pdfDict) {
	for _, key := range []pdfName{"Root", "Encrypt"} {
		if v := dict[key]; v != nil {
			f.trailer[key] = v
		}
	}
}

// stream takes the trailer, or the objects, that a stream holds.
func (f *pdfFile) stream(s pdfStream) {
	switch s.dict["Type"] {
	case pdfName("XRef"):
		f.trail(s.dict)
	case pdfName("ObjStm"):
		data := f.decode(s)
		first, _ := s.dict["First"].(float64)
		head := &pdfLexer{data: data[:min(max(int(first), 0), len(data))], work: f.work}
		for {
			number, _ := head.token()
			offset, ok := head.token()
			n, is := number.(float64)
			o, too := offset.(float64)
			if !ok || !is || !too || len(f.at) > maxObjects {
				return
			}
			if start := int(first) + int(o); start >= 0 && start < len(data) {
				f.at[int(n)] = data[start:]
				if v, _ := f.parse(data[start:]); v != nil {
					if dict, ok := v.(pdfDict); ok && dict["Type"] == pdfName("Catalog") {
						f.catalog = pdfRef(n)
					}
				}
			}
		}
	}
}

// parse reads the object at the beginning of data, and tells how many bytes it has.
func (f *pdfFile) parse(data []byte) (any, int) {
	l := &pdfLexer{data: data, work: f.work, refs: true}
	v, _ := l.next()
	dict, ok := v.(pdfDict)
	if !ok {
		return v, min(l.at, len(data))
	}
	l.blanks()
	rest := data[min(l.at, len(data)):]
	if !bytes.HasPrefix(rest, []byte("stream")) {
		return v, min(l.at, len(data))
	}
	rest = bytes.TrimPrefix(bytes.TrimPrefix(rest[len("stream"):], []byte("\r")), []byte("\n"))
	start := len(data) - len(rest)
	if n, ok := dict["Length"].(float64); ok && n >= 0 && int(n) <= len(rest) {
		if behind := bytes.TrimLeft(rest[int(n):min(int(n)+20, len(rest))], "\r\n "); bytes.HasPrefix(behind, []byte("endstream")) {
			return pdfStream{dict, rest[:int(n)]}, start + int(n)
		}
	}
	end := bytes.Index(rest, []byte("endstream"))
	if end < 0 {
		end = len(rest)
	}
	f.work.spend(end / 64)
	return pdfStream{dict, rest[:end]}, start + end
}

// get is what a value is, behind references; nil where it leads nowhere.
func (f *pdfFile) get(v any) any {
	for range 10 { // references may go round in a ring
		ref, ok := v.(pdfRef)
		if !ok {
			return v
		}
		data, ok := f.at[int(ref)]
		if !ok {
			return nil
		}
		v, _ = f.parse(data)
	}
	return nil
}

// dict is a dictionary behind references, that of a stream too; never nil in use: a nil one
// has no keys.
func (f *pdfFile) dict(v any) pdfDict {
	switch v := f.get(v).(type) {
	case pdfDict:
		return v
	case pdfStream:
		return v.dict
	}
	return nil
}

// list is an array behind references; one value is a list of one.
func (f *pdfFile) list(v any) pdfArray {
	switch v := f.get(v).(type) {
	case nil:
		return nil
	case pdfArray:
		return v
	default:
		return pdfArray{v}
	}
}

func (f *pdfFile) number(v any, without float64) float64 {
	if n, ok := f.get(v).(float64); ok {
		return n
	}
	return without
}

func (f *pdfFile) name(v any) pdfName {
	n, _ := f.get(v).(pdfName)
	return n
}

// decode unpacks a stream. A damaged end gives what comes before it, a filter that pictures
// have gives nothing.
func (f *pdfFile) decode(s pdfStream) []byte {
	filters, parameters := f.list(s.dict["Filter"]), f.list(s.dict["DecodeParms"])
	if len(filters) == 0 {
		return s.raw
	}
	data := s.raw
	for i, filter := range filters {
		var in io.Reader
		switch f.name(filter) {
		case "FlateDecode", "Fl":
			if len(data) < 2 {
				return nil
			}
			in = flate.NewReader(bytes.NewReader(data[2:])) // without the sum, which may be wrong
		case "ASCII85Decode", "A85":
			text, _, _ := bytes.Cut(data, []byte("~>"))
			in = ascii85.NewDecoder(bytes.NewReader(text))
		case "ASCIIHexDecode", "AHx":
			l := &pdfLexer{data: data, at: -1, work: f.work}
			in = bytes.NewReader([]byte(l.hex()))
		default:
			return nil
		}
		room := min(maxPart, MaxUnpacked-f.unpacked)
		data, _ = io.ReadAll(io.LimitReader(in, int64(room)+1)) // what comes before a damage
		if f.unpacked += len(data); len(data) > room {
			f.work.err = fault.New("document/limit", "the pdf unpacks to more than is read")
			return nil
		}
		if f.work.spend(len(data) / 64); i < len(parameters) {
			data = f.predicted(data, f.dict(parameters[i]))
		}
	}
	return data
}

// predicted undoes the differences between rows that streams of objects may be packed with.
func (f *pdfFile) predicted(data []byte, p pdfDict) []byte {
	width := int(min(max(f.number(p["Columns"], 1), 1), 1<<20))
	if f.number(p["Predictor"], 1) < 10 || f.number(p["BitsPerComponent"], 8) != 8 || f.number(p["Colors"], 1) != 1 {
		return data
	}
	before, out := make([]byte, width), make([]byte, 0, len(data))
	for len(data) > 1 {
		kind, row := data[0], data[1:min(width+1, len(data))]
		data = data[1+len(row):]
		var left, corner byte
		for i := range row {
			up := before[i]
			switch kind {
			case 1:
				row[i] += left
			case 2:
				row[i] += up
			case 3:
				row[i] += byte((int(left) + int(up)) / 2)
			case 4:
				row[i] += paeth(left, up, corner)
			}
			left, corner = row[i], up
		}
		before = append(row[:len(row):len(row)], before[len(row):]...)
		out = append(out, row...)
	}
	return out
}

// paeth is the neighbour that is nearest to left + up − corner, as PNG has it.
func paeth(left, up, corner byte) byte {
	off := func(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }
	toLeft, toUp := off(up, corner), off(left, corner)
	toCorner := int(left) + int(up) - 2*int(corner)
	toCorner = max(toCorner, -toCorner)
	switch {
	case toLeft <= toUp && toLeft <= toCorner:
		return left
	case toUp <= toCorner:
		return up
	}
	return corner
}
