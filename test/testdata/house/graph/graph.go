// Package graph is a core that is not pure.
package graph

import (
	_ "context"
	_ "math/rand/v2"
	_ "sync/atomic"
	when "time"
)

func wait() {
	c := make(chan int)
	go wait()
	select {
	case <-c:
	}
}

func now() int64 { return when.Now().Unix() }
