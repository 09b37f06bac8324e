//go:build !linux

package broker

// unwritten returns errBlind: only Linux tells.
func unwritten(string) (bool, error) { return false, errBlind }
