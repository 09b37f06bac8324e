package web

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// shownPolicy is what a browser lets the page do: run and show its own files, ask this
// host, and make markup by the one policy of its framework alone, which makes it of
// texts that are in those files.
const shownPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// pages serves what a browser shows, beside the interface: the page's own files, in
// which there is nothing to protect, and the link that signs in.
func (s *Server) pages(mux *http.ServeMux) {
	if s.config.Sessions != nil {
		mux.HandleFunc(signInPath, s.signIn)
		for _, one := range ofSessions() {
			mux.HandleFunc(one.pattern, func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, []route{one}) })
		}
	}
	if s.config.Page != nil {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r, "index.html") })
		mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r, "assets/"+r.PathValue("name")) })
	}
}

// kinds are the content types of the page's files.
var kinds = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// file answers with a file of the page. The names of those below assets are made of what
// is in them, so that they may be kept.
func (s *Server) file(w http.ResponseWriter, r *http.Request, name string) {
	data, err := fs.ReadFile(s.config.Page, name)
	kind := kinds[path.Ext(name)]
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrNotExist) || kind == "" {
		s.unknown(w, r)
		return
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", shownPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), usb=()")
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(data)
}
