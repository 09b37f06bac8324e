package tool

import "sync"

// capture keeps the beginning and the end of what is written to it, and calls
// over, once, when more than limit bytes have come.
type capture struct {
	half  int // bytes kept of each
	limit int64
	over  func()

	mu         sync.Mutex
	head, tail []byte
	total      int64
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
	tail = c.tail
	if len(tail) > c.half {
		tail = tail[len(tail)-c.half:]
	}
	return c.head, tail, c.total - int64(len(c.head)) - int64(len(tail))
}
