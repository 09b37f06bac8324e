package patchscan

import (
	"cmp"
	"slices"
	"strings"
)

// around is how many lines before and after added ones are read with them, so that
// a key of several lines is seen whole.
const around = 3

// secrets looks for keys in added lines. In binary files only those of a known form
// mean anything.
func (e *examination) secrets(file string, t text, added []int, binary bool) {
	if e.policy.Of(Secret) == Allow && e.policy.Of(MaybeSecret) == Allow {
		return
	}
	e.knownSecrets(file, t, added)
	for from := 0; from < len(added); {
		to := from + 1
		for to < len(added) && added[to]-added[to-1] <= 2*around {
			to++
		}
		first, last := max(added[from]-around, 0), min(added[to-1]+around, len(t.starts)-1)
		e.keys(file, t, added[from:to], t.starts[first], t.end(last), binary)
		from = to
	}
}

// knownSecrets looks for secrets of the host.
func (e *examination) knownSecrets(file string, t text, added []int) {
	var b strings.Builder
	for _, i := range added {
		b.WriteString(t.whole[t.starts[i]:t.end(i)])
	}
	for _, name := range e.known(b.String()) {
		line := 0
		for _, i := range added {
			if len(e.known(t.line(i))) > 0 {
				line = i + 1
				break
			}
		}
		e.add(Secret, file, line, "it holds the secret %s of this host", name)
	}
}

// keys reports what the rules find from one offset to another, if it stands in an
// added line. A line with a key of a known form is not reported a second time for
// its entropy.
func (e *examination) keys(file string, t text, added []int, from, to int, binary bool) {
	isAdded := map[int]bool{}
	for _, i := range added {
		isAdded[i] = true
	}
	known := map[int]bool{}
	hits, whole := e.rules.find(file, t.whole[from:to], &e.keyed)
	if !whole {
		e.add(Unexamined, file, 0, "not all of it was searched for keys")
	}
	for _, isGeneric := range []bool{false, true} {
		for _, h := range hits {
			if h.rule.isGeneric() != isGeneric {
				continue
			}
			line, in := t.lineAt(from+h.at), false
			for i := t.lineAt(from + h.at); i <= t.lineAt(max(from+h.end-1, from+h.at)); i++ {
				if isAdded[i] && !in {
					line, in = i, true
				}
			}
			switch {
			case !in || known[line] || isGeneric && binary:
			case isGeneric:
				known[line] = true
				e.add(MaybeSecret, file, line+1, "the text could be a key or a password")
			case h.usual:
				known[line] = true
				e.add(MaybeSecret, file, line+1, "the text has the form of a key, which is often none in a file of this kind: %s", h.rule.ID)
			default:
				known[line] = true
				e.add(Secret, file, line+1, "the text has the form of a key: %s", h.rule.ID)
			}
		}
	}
}

// Blotted returns a text, such as a commit's message, in which nothing has the form
// of a known issuer's key. Of a text beyond [MaxKeyed] bytes nothing is left.
func (s *Scanner) Blotted(text string) string {
	budget := MaxKeyed
	hits, whole := s.rules.find("", text, &budget)
	if !whole {
		return "[a text that is too large to be searched for keys]"
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	end := 0
	for _, h := range hits {
		if h.rule.isGeneric() || h.end <= end {
			continue
		}
		if h.at >= end {
			b.WriteString(text[end:h.at] + "[a key: " + h.rule.ID + "]")
		}
		end = h.end
	}
	return b.String() + text[end:]
}
