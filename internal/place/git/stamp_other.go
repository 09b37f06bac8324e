//go:build !linux

package git

import "io/fs"

// stamp is not known here: no checkout is kept.
type stamp struct{}

func (stamp) fine() bool { return false }

func stampOf(fs.FileInfo) (stamp, bool) { return stamp{}, false }

func (stamp) digest() (none [16]byte) { return none }

func mappingsTell(string) bool { return false }
