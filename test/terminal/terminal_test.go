package terminal

import "testing"

// TestAScreenShowsWhatATerminalShows writes what programs write, whole and byte by byte.
func TestAScreenShowsWhatATerminalShows(t *testing.T) {
	for _, tt := range []struct{ written, text string }{
		{"one\r\ntwo  \r\n\r\n", "one\ntwo\n"},
		{"one\r\x1b[Ktwo", "two\n"},
		{"abcdefghij", "abcdefghij\n"}, // the last column takes a rune
		{"abcdefghijk", "abcdefghij\nk\n"},
		{"abcdefghij\r\nk", "abcdefghij\nk\n"},
		{"a\tb\ac", "a       bc\n"},
		{"\x1b[31m⠋ä\x1b[0m\x1b[?25l", "⠋ä\n"},
		{"1\r\n2\r\n3\r\n4\x1b[9A\rx", "1\nx\n3\n4\n"}, // what has scrolled away is out of reach
		{"1\r\n2\r\n3\x1b[1A\r\x1b[Jx", "1\nx\n"},
		{"abc\x1b[2Dx\x1b[1Gy\x1b[3Cz", "yxc z\n"[:3] + " z\n"},
		{"abc\x1b[2K", "\n"},
	} {
		whole, single := NewScreen(10, 3), NewScreen(10, 3)
		_, _ = whole.Write([]byte(tt.written))
		for _, b := range []byte(tt.written) {
			_, _ = single.Write([]byte{b})
		}
		if whole.Text() != tt.text || single.Text() != tt.text {
			t.Errorf("%q shows %q, byte by byte %q, want %q", tt.written, whole.Text(), single.Text(), tt.text)
		}
	}
	s := NewScreen(10, 3)
	_, _ = s.Write([]byte("abcdefghijk\a\a\x1b[5n"))
	if s.Bells() != 2 || len(s.Unknown()) != 1 || len(s.Wrapped()) != 1 {
		t.Errorf("%d bells, %q unknown, %q wrapped", s.Bells(), s.Unknown(), s.Wrapped())
	}
}

// TestAScreenIsResized breaks lines anew, and joins those that it had broken.
func TestAScreenIsResized(t *testing.T) {
	s := NewScreen(10, 3)
	_, _ = s.Write([]byte("abcdefghijkl\r\nxyz"))
	s.Resize(4, 5)
	if got, want := s.Text(), "abcd\nefgh\nijkl\nxyz\n"; got != want {
		t.Errorf("narrower: %q, want %q", got, want)
	}
	s.Resize(20, 5)
	_, _ = s.Write([]byte("!\x1b[1A\r?"))
	if got, want := s.Text(), "?bcdefghijkl\nxyz!\n"; got != want {
		t.Errorf("wider: %q, want %q", got, want)
	}
}
