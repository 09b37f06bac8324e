package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// fetch asks the host of $DATA over HTTP, as curl would, and prints the status
// and the body; of a stream so many events:
//
//	fetch [-t TOKEN] [-X METHOD] [-H 'NAME: VALUE'] [-d BODY] [-n EVENTS] [-x TIMES] PATH
func fetch() {
	f := flag.NewFlagSet("fetch", flag.ExitOnError)
	secret := f.String("t", "", "token")
	method := f.String("X", "", "method")
	header := f.String("H", "", "header")
	body := f.String("d", "", "body")
	events := f.Int("n", 0, "events of a stream to print the summaries of")
	times := f.Int("x", 1, "how often to ask; what is printed is the last answer")
	give(f.Parse(os.Args[1:]))
	url, err := os.ReadFile(filepath.Join(os.Getenv("DATA"), "http.url"))
	give(err)
	if *method == "" {
		*method = map[bool]string{true: http.MethodGet, false: http.MethodPost}[*body == ""]
	}
	for i := range *times {
		r, err := http.NewRequest(*method, strings.TrimSpace(string(url))+f.Arg(0), strings.NewReader(*body))
		give(err)
		if *body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if *secret != "" {
			r.Header.Set("Authorization", "Bearer "+*secret)
		}
		if name, value, ok := strings.Cut(*header, ": "); ok {
			if r.Header.Set(name, value); name == "Host" {
				r.Host = value
			}
		}
		reply, err := http.DefaultClient.Do(r)
		give(err)
		if i == *times-1 {
			tell(reply, *events)
		}
		_ = reply.Body.Close()
	}
}

func tell(reply *http.Response, events int) {
	fmt.Println(reply.Status)
	if events == 0 {
		_, err := io.Copy(os.Stdout, reply.Body)
		give(err)
		return
	}
	for in := bufio.NewScanner(reply.Body); events > 0 && in.Scan(); {
		if line := in.Text(); strings.HasPrefix(line, "id: ") || strings.HasPrefix(line, "data: ") {
			fmt.Println(line)
			if strings.HasPrefix(line, "data: ") {
				events--
			}
		}
	}
}
