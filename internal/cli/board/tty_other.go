//go:build !linux && !darwin

package board

import "os"

// tty is a terminal that no board can stand on.
type tty struct{}

func newTTY(*os.File) *tty { return &tty{} }

func (*tty) front() bool { return false }
func (*tty) silence()    {}
func (*tty) restore()    {}
func (*tty) stop()       {}

func (*tty) signals() (resized, stopped chan os.Signal, end func()) { return nil, nil, func() {} }
