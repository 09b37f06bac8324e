package tool

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// capture keeps the beginning and the end of what is written to it, and calls
// over, once, when more than limit bytes have come.
type capture struct {
	half  int // bytes kept of each
	limit int64
	over  func()

	mu         sync.Mutex
	head, tail []byte
	total      int64
	taken      int64 // of total, what take has given or left out
}

func newCapture(keep int, limit int64, over func()) *capture {
	return &capture{half: keep / 2, limit: limit, over: over}
}

// Write never fails, so that a command does not notice.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	before := c.total
	c.total += int64(len(p))
	rest := p
	if room := c.half - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	c.keepEnd(rest)
	tooMuch := before <= c.limit && c.total > c.limit
	c.mu.Unlock()
	if tooMuch {
		c.over()
	}
	return len(p), nil
}

func (c *capture) keepEnd(p []byte) {
	if len(p) >= c.half {
		c.tail = append(c.tail[:0], p[len(p)-c.half:]...)
		return
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.half { // seldom, so that bytes are moved seldom
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.half:]...)
	}
}

// parts returns what was kept, and how many bytes between are missing.
func (c *capture) parts() (head, tail []byte, cut int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept()
}

// kept is parts for who has the lock.
func (c *capture) kept() (head, tail []byte, cut int64) {
	tail = c.tail
	if len(tail) > c.half {
		tail = tail[len(tail)-c.half:]
	}
	return c.head, tail, c.total - c.taken - int64(len(c.head)) - int64(len(tail))
}

// whole returns what was kept in one text, and how many bytes of it are missing.
func (c *capture) whole() (string, int64) {
	head, tail, cut := c.parts()
	return joined(head, tail, cut), cut
}

// take returns what was kept since the last time, and forgets it. What could be
// the beginning of a character stays, unless it is the last time.
func (c *capture) take(last bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := joined(c.kept())
	c.head, c.tail, c.taken = nil, nil, c.total
	if n := unfinished(text); !last && n > 0 {
		c.head, c.taken = []byte(text[len(text)-n:]), c.total-int64(n)
		text = text[:len(text)-n]
	}
	return text
}

// unread is how many bytes a take would give or leave out.
func (c *capture) unread() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total - c.taken
}

// joined is the beginning and the end of an output in one text, and says what is
// missing between them.
func joined(head, tail []byte, cut int64) string {
	if cut == 0 {
		return string(head) + string(tail)
	}
	return fmt.Sprintf("%s\n[%d bytes of output cut]\n%s", head, cut, tail)
}

// unfinished is how many bytes at the end of a text are the beginning of a character.
func unfinished(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRuneInString(end) {
				return 0
			}
			return n
		}
	}
	return 0
}
