package notice

import (
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// FormatPosition writes a position as "PARTITION.EPOCH.SEQUENCE.INDEX"; a nil
// position gives "".
func FormatPosition(p *loomv1.Position) string {
	if p == nil {
		return ""
	}
	var b []byte
	b = strconv.AppendUint(b, uint64(p.GetPartition()), 10)
	b = strconv.AppendUint(append(b, '.'), p.GetEpoch(), 10)
	b = strconv.AppendUint(append(b, '.'), p.GetSequence(), 10)
	b = strconv.AppendUint(append(b, '.'), uint64(p.GetIndex()), 10)
	return string(b)
}

// ParsePosition reads what [FormatPosition] writes, and nothing else: no
// signs, no spaces, no leading zeros. Otherwise the error has the code
// id/malformed.
func ParsePosition(s string) (*loomv1.Position, error) {
	parts := strings.Split(s, ".")
	var n [4]uint64
	bits := [4]int{32, 64, 64, 32}
	if len(parts) != len(n) {
		return nil, malformed(s)
	}
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 10, bits[i])
		if err != nil || strconv.FormatUint(v, 10) != part {
			return nil, malformed(s)
		}
		n[i] = v
	}
	return &loomv1.Position{Partition: uint32(n[0]), Epoch: n[1], Sequence: n[2], Index: uint32(n[3])}, nil
}

func malformed(s string) error {
	return fault.New("id/malformed", "position is not PARTITION.EPOCH.SEQUENCE.INDEX").
		At("position").Got(s).Want(`four numbers joined by dots, for example "0.1.42.0"`)
}
