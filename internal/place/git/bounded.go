package git

import "fmt"

// bounded keeps the first most bytes written to it and, when tail is set, the
// last tail bytes too. It never refuses a write.
type bounded struct {
	most, tail int
	head, end  []byte
	over       bool
	cut        int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	room := min(b.most-len(b.head), n)
	b.head = append(b.head, p[:room]...)
	if rest := p[room:]; len(rest) > 0 {
		b.over = true
		b.keepEnd(rest)
	}
	return n, nil
}

func (b *bounded) keepEnd(p []byte) {
	b.end = append(b.end, p...)
	if extra := len(b.end) - b.tail; extra > 0 {
		b.cut += extra
		b.end = append(b.end[:0], b.end[extra:]...)
	}
}

// String returns what was kept, with a line that says how much was not.
func (b *bounded) String() string {
	if b.cut == 0 {
		return string(b.head) + string(b.end)
	}
	return fmt.Sprintf("%s\n... %d bytes left out ...\n%s", b.head, b.cut, b.end)
}
