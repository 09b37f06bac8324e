package office

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// hashName names bytes by what they are.
func hashName(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// atom is a word of one look, with the blank before it.
type atom struct {
	run
	target string // of a cross reference
	wide   float64
	space  float64
}

// line is what fits beside each other.
type line []atom

func (l *pdfPages) look(r run, size float64) {
	style := ""
	if r.Bold {
		style = "B"
	}
	if r.Italic {
		style += "I"
	}
	if r.Code {
		l.font("GoMono", "", size*0.95)
		return
	}
	if r.Note > 0 {
		size *= noteMark
	}
	l.font("Go", style, size)
}

// wrap breaks text into lines of at most a width.
func (l *pdfPages) wrap(runs []run, size, width float64) (lines []line) {
	var now line
	used := 0.0
	flush := func() {
		lines = append(lines, now)
		now, used = nil, 0
	}
	glued := true // no blank before the next word
	for _, r := range runs {
		if r.Break {
			flush()
			glued = true
			continue
		}
		for k, hard := range strings.Split(r.Text, "\n") {
			if k > 0 {
				flush()
				glued = true
			}
			for _, p := range l.f.pieces(hard) {
				target := ""
				if p.kind != "" && r.Link == "" && !r.Code {
					target = fmt.Sprint(p.kind, p.n)
				}
				l.look(r, size)
				blank := l.wide(" ")
				if strings.HasPrefix(p.text, " ") {
					glued = false
				}
				words := strings.Fields(p.text)
				for i, word := range words {
					for _, part := range l.fitting(word, width) {
						a := atom{run: r, target: target, wide: l.wide(part)}
						a.Text = part
						if !glued {
							a.space = blank
						}
						if used+a.space+a.wide > width && len(now) > 0 {
							flush()
						}
						if len(now) == 0 {
							a.space = 0
						}
						now = append(now, a)
						used += a.space + a.wide
						glued = true
					}
					glued = i == len(words)-1 && !strings.HasSuffix(p.text, " ")
				}
			}
		}
	}
	if len(now) > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}

// fitting cuts a word that is wider than a line.
func (l *pdfPages) fitting(word string, width float64) (parts []string) {
	if l.wide(word) <= width {
		return []string{word}
	}
	now := ""
	for _, r := range word {
		if now != "" && l.wide(now+string(r)) > width {
			parts = append(parts, now)
			now = ""
		}
		now += string(r)
	}
	return append(parts, now)
}

// flow writes text from x on, page after page.
func (l *pdfPages) flow(runs []run, size float64, color string, x, width float64) {
	l.lines(l.wrap(runs, size, width), size, color, x)
}

func (l *pdfPages) lines(list []line, size float64, color string, x float64) {
	for i, ln := range list {
		l.room(size*leading*float64(together(i, len(list))) + l.noteRoom(list[i:i+1]))
		l.named(ln)
		l.line(ln, size, color, x)
		l.y += size * leading
	}
}

func (l *pdfPages) line(ln line, size float64, color string, x float64) {
	base := l.y + size
	for _, a := range ln {
		x += a.space
		l.look(a.run, size)
		l.color(color)
		if a.Link != "" {
			l.color(l.f.style.accent)
		}
		if a.Code {
			l.SetFillColor(244, 244, 244)
			l.Rect(x, base-size*0.85, a.wide, size*1.1, "F")
		}
		if a.Note > 0 {
			l.put(x, base-size*0.33, a.Text)
			x += a.wide
			continue
		}
		l.put(x, base, a.Text)
		switch {
		case strings.HasPrefix(a.Link, "#"):
			if id, ok := l.links[a.Link]; ok {
				l.Link(x, l.y, a.wide, size*leading, id)
			}
		case a.Link != "":
			l.LinkString(x, l.y, a.wide, size*leading, a.Link)
		case a.target != "":
			l.Link(x, l.y, a.wide, size*leading, l.links[a.target])
		}
		x += a.wide
	}
}
