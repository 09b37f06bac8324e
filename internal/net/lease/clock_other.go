//go:build !linux

package lease

func systemClock() clock { return monotonic() }
