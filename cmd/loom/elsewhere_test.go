package main

import (
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsServer runs the server of a configuration file until it is interrupted,
// writes its URL into a file, and reads its configuration again when there is a
// file RELOAD, in which it then says so:
//
//	nats-server FILE URLFILE RELOAD
func natsServer() {
	options, err := server.ProcessConfigFile(os.Args[1])
	if err != nil {
		give(err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		give(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		give(fmt.Errorf("the server does not come up"))
	}
	give(os.WriteFile(os.Args[2], []byte(s.ClientURL()+"\n"), 0o600))
	go func() {
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for range look.C {
			if _, err := os.Stat(os.Args[3]); err == nil {
				give(s.Reload())
				give(os.WriteFile(os.Args[3], []byte("done\n"), 0o600))
				return
			}
		}
	}()
	s.WaitForShutdown()
}
