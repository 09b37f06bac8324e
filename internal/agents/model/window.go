package model

// Windowed is a provider that knows how many tokens its model takes, the
// question and the answer together.
type Windowed interface {
	// Window returns that number, or 0 where there is no such bound.
	Window() int
}

// WindowOf returns how many tokens p takes, or 0 where nothing bounds them.
func WindowOf(p Provider) int {
	if w, ok := p.(Windowed); ok {
		return w.Window()
	}
	return 0
}

// Window returns the smallest window in the chain: whoever answers must be able
// to read it all.
func (c chain) Window() (least int) {
	for _, p := range c {
		if w := WindowOf(p); w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return least
}
