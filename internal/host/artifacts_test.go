package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// inGit has git change a person's checkout.
func inGit(t *testing.T, top string, args ...string) {
	t.Helper()
	args = append([]string{"-C", top, "-c", "user.name=Eve", "-c", "user.email=eve@example.com"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// made writes a document with its record and spec into a checkout, and commits them.
func made(t *testing.T, top, name, format, body string) []byte {
	t.Helper()
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: "Roof", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What", Body: body}}}
	r, err := office.Render(spec, format, office.Options{Carry: document.Canonical(spec)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, name+"."+format)
	record := document.NewRecord(document.Making{
		Artifact: filepath.Base(file), Format: format, Spec: spec, Report: document.Review{}.Run(spec), Data: r.Data, At: "2026-03-02T10:00:00Z",
	})
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{file: r.Data, document.RecordName(file): document.JSON(record), filepath.Join(top, name+".spec.json"): document.JSON(spec)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inGit(t, top, "add", "-A")
	inGit(t, top, "commit", "-q", "-m", "Make "+name)
	return r.Data
}

// A document that landed is listed with its versions and read whole, in ranges and as a
// page, over NATS and HTTP; nothing else of the repository is.
func TestDOC06_ArtifactsAreReadOverHTTPAndNATS(t *testing.T) {
	longtest.Skip(t)
	d, secret := site(t, "shop")
	top := d.config.Projects[0].Repository
	first := made(t, top, "docs/roof", "docx", "It leaks <script>alert(1)</script>.")
	second := made(t, top, "docs/roof", "docx", "It is dry.")
	made(t, top, "plain", "pdf", "A page.")
	get := func(path string, headers ...string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.host.Load().HTTP()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		reply, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply, body
	}
	_, body := get("/api/v1/artifacts?project=shop")
	list := &loomv1.ArtifactsReply{}
	if err := protojson.Unmarshal(body, list); err != nil || len(list.Artifacts) != 2 {
		t.Fatalf("the list: %v %s", err, body)
	}
	roof := list.Artifacts[0]
	if roof.Id != "docs/roof.docx" || len(roof.Versions) != 2 || roof.Changed || roof.Versions[0].Number != 1 || roof.Versions[0].Author != "Eve" ||
		roof.Versions[1].FileHash != document.HashBytes(second) || len(roof.Versions[1].Commit) != 40 || roof.Versions[1].Nodes == 0 {
		t.Errorf("the document: %v", roof)
	}
	hash := strings.TrimPrefix(document.HashBytes(first), "sha256:")
	for query, want := range map[string][]byte{"": second, "?v=1": first, "?v=2": second, "?v=" + hash[:12]: first, "?v=sha256:" + hash: first} {
		reply, body := get("/api/v1/artifacts/docs%2Froof.docx" + query)
		h := reply.Header
		if reply.StatusCode != http.StatusOK || !bytes.Equal(body, want) {
			t.Errorf("%q: %d, %d bytes, want %d", query, reply.StatusCode, len(body), len(want))
		}
		if h.Get("Content-Type") != "application/vnd.openxmlformats-officedocument.wordprocessingml.document" || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Disposition") != "attachment; filename=roof.docx" || h.Get("ETag") != fmt.Sprintf("%q", strings.TrimPrefix(document.HashBytes(want), "sha256:")) {
			t.Errorf("%q: %v", query, h)
		}
	}
	reply, body := get("/api/v1/artifacts/docs%2Froof.docx?v=1", "Range", "bytes=2-9")
	if reply.StatusCode != http.StatusPartialContent || !bytes.Equal(body, first[2:10]) {
		t.Errorf("a range: %d %q", reply.StatusCode, body)
	}
	if reply, _ := get("/api/v1/artifacts/docs%2Froof.docx?v=1", "If-None-Match", fmt.Sprintf("%q", hash)); reply.StatusCode != http.StatusNotModified {
		t.Errorf("with its tag: %d", reply.StatusCode)
	}
	for _, id := range []string{"docs%2Froof.docx", "plain.pdf"} {
		reply, body := get("/api/v1/artifacts/" + id + "/preview?v=1")
		h := reply.Header
		if reply.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(h.Get("Content-Disposition"), "inline") ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox; default-src 'none';") {
			t.Errorf("preview of %s: %d %v", id, reply.StatusCode, h)
		}
		if bytes.Contains(body, []byte("<script")) || !bytes.Contains(body, []byte("<h2 id=\"a\">What</h2>")) {
			t.Errorf("preview of %s:\n%s", id, body)
		}
	}
	for path, code := range map[string]string{
		"docs%2Froof.docx?v=3": "document/unknown", "docs%2Froof.docx?v=0": "document/unknown", "docs%2Froof.docx?v=abc": "usage/argument", "docs%2Froof.docx?v=ffffffff": "document/unknown",
		"a.txt": "document/unknown", "docs%2Froof.spec.json": "document/unknown", "..%2Fshop%2Fa.txt": "request/unknown", "docs%2Froof.docx?project=other": "project/unknown",
	} {
		reply, body := get("/api/v1/artifacts/" + path)
		var p struct{ Code string }
		if err := json.Unmarshal(body, &p); err != nil || p.Code != code || reply.StatusCode < 400 {
			t.Errorf("%s: %d %s, want %s", path, reply.StatusCode, body, code)
		}
	}
	if reply, err := d.ask(t.Context(), "wrong", "/api/v1/artifacts/plain.pdf", ""); err != nil || reply.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %v %v", reply, err)
	} else {
		reply.Body.Close()
	}
	d.artifactsOverNATS(t, top, first)
}

// artifactsOverNATS asks what is asked over HTTP of the services themselves.
func (d *deployment) artifactsOverNATS(t *testing.T, top string, first []byte) {
	t.Helper()
	err := d.call(t.Context(), "operator", func(ctx context.Context, c *client.Client) error {
		a, err := c.Artifact(ctx, &loomv1.ArtifactRequest{Project: "shop", Id: "docs/roof.docx", V: "1", Offset: 4, Limit: 10})
		if err != nil || !bytes.Equal(a.Data, first[4:14]) || a.Size != uint64(len(first)) || a.Kind != "docx" || a.GetVersion().GetNumber() != 1 {
			t.Errorf("a part over NATS: %v %v", a, err)
		}
		if _, err = c.Artifact(ctx, &loomv1.ArtifactRequest{Project: "shop", Id: "a.txt"}); fault.Code(err) != "document/unknown" {
			t.Errorf("a file that is no document: %v", err)
		}
		// What somebody changed by hand is no version, and the list says so.
		if err := os.WriteFile(filepath.Join(top, "docs", "roof.docx"), []byte("mine"), 0o600); err != nil {
			return err
		}
		inGit(t, top, "commit", "-q", "-a", "-m", "Change it by hand")
		l, err := c.Artifacts(ctx, &loomv1.ArtifactsRequest{Project: "shop", Id: "docs/roof.docx"})
		if err != nil || len(l.Artifacts) != 1 || !l.Artifacts[0].Changed || len(l.Artifacts[0].Versions) != 2 {
			t.Errorf("one that was changed: %v %v", l, err)
		}
		l, err = c.Artifacts(ctx, &loomv1.ArtifactsRequest{Project: "shop", Limit: 1})
		if err != nil || len(l.Artifacts) != 1 || l.Next != "docs/roof.docx" {
			t.Errorf("the first page: %v %v", l, err)
		}
		l, err = c.Artifacts(ctx, &loomv1.ArtifactsRequest{Project: "shop", After: l.GetNext()})
		if err != nil || len(l.Artifacts) != 1 || l.Artifacts[0].Id != "plain.pdf" {
			t.Errorf("the next page: %v %v", l, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
