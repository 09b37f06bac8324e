// Package kernel runs tests that need a kernel set up as this machine's is not,
// in a machine of software: those of control groups of version 2, as root and as
// nobody in particular. It needs qemu-system-x86_64, cpio, busybox (linked
// statically), perl and a kernel for it (as a Linux distribution's, some 6.1 or
// newer), and takes some minutes:
//
//	go test ./test/kernel -v -args -kernel.image /boot/vmlinuz-6.1.0-48-amd64
//
// Without the flag nothing is run, and that is said.
package kernel
