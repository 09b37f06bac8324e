package drawing

import (
	"strings"
	"unicode"
)

// widths are the advances of Helvetica for the characters from space to tilde,
// in thousandths of the font's size.
var widths = [95]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// stretch allows for other fonts and for bold: they are up to so much wider.
const stretch = 1.15

// measure returns how wide a text is in a font of that size, or a little more.
func measure(text string, size float64) float64 {
	sum := 0
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~':
			sum += widths[r-' ']
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100:
			sum += 1000 // East Asian and symbols take a square
		default:
			sum += 667
		}
	}
	return float64(sum) / 1000 * size * stretch
}

// clean puts a text on one line, without what turns or hides text, and at most
// so wide.
func clean(text string, size, most float64) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))), " ")
	if measure(text, size) <= most {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && measure(string(runes)+"…", size) > most {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "…"
}
