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

	"golang.org/x/sync/errgroup"
)

// fetch asks the host of $DATA over HTTP, as curl would, and prints the status
// and the body; of a stream so many events:
//
// With -c it is a browser that keeps its cookie in a file, asks for pages of the host
// and follows no redirection, but prints where it leads:
//
//	fetch [-t TOKEN] [-c FILE] [-X METHOD] [-H 'NAME: VALUE'] [-d BODY] [-n EVENTS] [-u STATUS] PATH
func fetch() {
	f := flag.NewFlagSet("fetch", flag.ExitOnError)
	secret := f.String("t", "", "token")
	jar := f.String("c", "", "file of a cookie")
	method := f.String("X", "", "method")
	header := f.String("H", "", "header")
	body := f.String("d", "", "body")
	events := f.Int("n", 0, "events of a stream to print the summaries of")
	until := f.Int("u", 0, "ask again, many at once, until an answer has this status")
	give(f.Parse(os.Args[1:]))
	url, err := os.ReadFile(filepath.Join(os.Getenv("DATA"), "http.url"))
	give(err)
	if *method == "" {
		*method = map[bool]string{true: http.MethodGet, false: http.MethodPost}[*body == ""]
	}
	ask := func() (*http.Response, error) {
		r, err := http.NewRequest(*method, strings.TrimSpace(string(url))+f.Arg(0), strings.NewReader(*body))
		if err != nil {
			return nil, err
		}
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
		if *jar != "" {
			return browse(r, *jar)
		}
		return http.DefaultClient.Do(r)
	}
	reply, err := untilStatus(*until, ask)
	give(err)
	tell(reply, *events)
	give(reply.Body.Close())
}

// browse asks as a page of the host does, with the cookie of a file, where a new one is kept.
func browse(r *http.Request, jar string) (*http.Response, error) {
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if kept, err := os.ReadFile(jar); err == nil {
		r.Header.Set("Cookie", string(kept))
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, c := range reply.Cookies() {
		give(os.WriteFile(jar, []byte(c.Name+"="+c.Value), 0o600))
	}
	if to := reply.Header.Get("Location"); to != "" {
		fmt.Println("to", to)
	}
	return reply, nil
}

// untilStatus asks once, or, of a status, sixty times at once and again until
// an answer has it: so that a slow machine too asks more than is allowed.
func untilStatus(status int, ask func() (*http.Response, error)) (*http.Response, error) {
	if status == 0 {
		return ask()
	}
	for {
		var all [60]*http.Response
		var g errgroup.Group
		for i := range all {
			g.Go(func() (err error) {
				all[i], err = ask()
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		for _, reply := range all {
			if reply.StatusCode == status {
				return reply, nil
			}
		}
		for _, reply := range all {
			_ = reply.Body.Close()
		}
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
