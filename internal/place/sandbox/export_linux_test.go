//go:build amd64 || arm64

package sandbox

// CountsProcesses reports whether the kernel bounds the processes of a sandbox.
func CountsProcesses() bool { return countsProcesses() }
