//go:build !linux

package git

import "time"

// booted is not known on this system.
func booted() time.Time { return time.Time{} }
