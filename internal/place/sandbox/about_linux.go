//go:build amd64 || arm64

package sandbox

// LandlockABI returns the version of Landlock that the kernel has, 0 for none.
func LandlockABI() int { return landlockABI() }
