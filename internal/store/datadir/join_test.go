package datadir_test

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

func newJoin(t *testing.T) datadir.Join {
	t.Helper()
	j, err := datadir.NewJoin("prod", 3, 0, 2, "UCEO")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestOPS01_AJoinFileIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prod.join")
	j := newJoin(t)
	if err := j.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the join file has mode %v, %v; want 0600", info.Mode(), err)
	}
	got, err := datadir.ReadJoin(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(j, got); diff != "" {
		t.Errorf("join file (-want +got):\n%s", diff)
	}
	if err := j.Write(path); fault.Code(err) != "usage/argument" {
		t.Errorf("writing it over: %v, want usage/argument", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.ReadJoin(path); fault.Code(err) != "data/permissions" {
		t.Errorf("a file that others read: %v, want data/permissions", err)
	}
}

func TestOPS01_UnsoundJoinFilesAreRefused(t *testing.T) {
	sound := newJoin(t)
	for _, tt := range []struct {
		name   string
		change func(m map[string]any)
		says   string
	}{
		{"sound", func(map[string]any) {}, ""},
		{"an unknown field", func(m map[string]any) { m["moon"] = 1 }, "moon"},
		{"a newer format", func(m map[string]any) { m["format"], m["moon"] = 2, 1 }, "format 2"},
		{"no format", func(m map[string]any) { delete(m, "format") }, "no format"},
		{"no deployment", func(m map[string]any) { delete(m, "deployment") }, "deployment"},
		{"one host", func(m map[string]any) { m["hosts"] = 1 }, "alone"},
		{"four hosts", func(m map[string]any) { m["hosts"] = 4 }, "3 or 5 hosts"},
		{"more replicas than hosts", func(m map[string]any) { m["replicas"] = 5 }, "replicas"},
		{"no partitions", func(m map[string]any) { m["partitions"] = 0 }, "partitions"},
		{"a name with a space", func(m map[string]any) { m["cluster"] = "a b" }, "name"},
		{"a short secret", func(m map[string]any) { m["secret"] = "s" }, "secret"},
		{"no authority", func(m map[string]any) { m["authority"] = "" }, "authority"},
		{"another's key", func(m map[string]any) { m["authority_key"] = newJoin(t).AuthorityKey }, "authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := json.Marshal(sound)
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			tt.change(m)
			if data, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "j")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = datadir.ReadJoin(path)
			if tt.says == "" {
				if err != nil {
					t.Errorf("ReadJoin: %v", err)
				}
				return
			}
			if fault.Code(err) != "cluster/join-file" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("ReadJoin: %v; want cluster/join-file and %q", err, tt.says)
			}
		})
	}
}

func FuzzReadJoin(f *testing.F) {
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := datadir.ReadJoin(path); err == nil {
			t.Errorf("%q is taken for a join file", data)
		}
	})
}

func TestOPS01_AHostJoinsOnce(t *testing.T) {
	j, path := newJoin(t), t.TempDir()
	d, err := datadir.Config{Path: path, Join: &j}.Open()
	if err != nil {
		t.Fatal(err)
	}
	m := d.Manifest()
	if m.Mode != datadir.ModeCluster || m.Deployment != j.Deployment || m.Partitions != 2 || m.CEO != "UCEO" || m.Cluster.Replicas != 3 {
		t.Errorf("manifest is %+v", m)
	}
	if _, err := d.Member(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(d.Path("member.json"))
	if err != nil || strings.Contains(string(data), strings.TrimSpace(j.AuthorityKey)) {
		t.Errorf("the directory keeps the authority's key, or no member.json: %v", err)
	}
	if err := d.SetCluster("127.0.0.1:1", "", []string{"127.0.0.1:2"}); err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	again := open(t, path).Manifest()
	if again.Host != m.Host || again.Starts != 2 || again.Cluster.Listen != "127.0.0.1:1" || !cmp.Equal(again.Cluster.Routes, []string{"127.0.0.1:2"}) {
		t.Errorf("after a start without the join file: %+v", again)
	}
}

func TestOPS01_AnInterruptedJoinBeginsAgain(t *testing.T) {
	j, path := newJoin(t), t.TempDir()
	for _, name := range []string{"member.json", "member.json.tmp", "manifest.json.tmp"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := datadir.Config{Path: path, Join: &j}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Member(); err != nil {
		t.Error(err)
	}
}

func TestOPS01_ModesAndDeploymentsDoNotMix(t *testing.T) {
	j, other := newJoin(t), newJoin(t)
	single, cluster := t.TempDir(), t.TempDir()
	for _, c := range []datadir.Config{{Path: single}, {Path: cluster, Join: &j}} {
		d, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		_ = d.Close()
	}
	for _, tt := range []struct {
		name string
		c    datadir.Config
		code string
	}{
		{"alone joins", datadir.Config{Path: single, Join: &j}, "cluster/mode"},
		{"alone gets routes", datadir.Config{Path: single, Mode: datadir.ModeCluster}, "cluster/mode"},
		{"a cluster's host starts alone", datadir.Config{Path: cluster, Mode: datadir.ModeSingle}, "cluster/mode"},
		{"nothing gets routes without a join file", datadir.Config{Path: filepath.Join(t.TempDir(), "new"), Mode: datadir.ModeCluster}, "cluster/mode"},
		{"another deployment", datadir.Config{Path: cluster, Join: &other}, "cluster/deployment"},
		{"the same again", datadir.Config{Path: cluster, Join: &j}, ""},
		{"alone as it is", datadir.Config{Path: single, Mode: datadir.ModeSingle}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := tt.c.Open()
			if fault.Code(err) != tt.code {
				t.Errorf("Open: %v, want code %q", err, tt.code)
			}
			if err == nil {
				_ = d.Close()
			}
		})
	}
}

// TestSEC01_RoutesTrustTheDeploymentAlone shakes hands between two hosts of a
// deployment, and between one of it and one of another.
func TestSEC01_RoutesTrustTheDeploymentAlone(t *testing.T) {
	j, other := newJoin(t), newJoin(t)
	a, b, stranger := member(t, j), member(t, j), member(t, other)
	if err := shake(t, a, b); err != nil {
		t.Errorf("two hosts of a deployment: %v", err)
	}
	if shake(t, a, stranger) == nil || shake(t, stranger, a) == nil {
		t.Error("a host of another deployment is let in")
	}
	bare := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	if shake(t, a, bare) == nil {
		t.Error("a client without a certificate is let in")
	}
}

func member(t *testing.T, j datadir.Join) *tls.Config {
	t.Helper()
	d, err := datadir.Config{Path: t.TempDir(), Join: &j}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	m, err := d.Member()
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.TLS(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shake returns why server and client do not trust each other.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	left, right := net.Pipe()
	defer func() { _, _ = left.Close(), right.Close() }()
	refused := make(chan error, 1)
	go func() {
		s := tls.Server(left, server)
		err := s.HandshakeContext(t.Context())
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		if err != nil {
			_ = left.Close()
		}
		refused <- err
	}()
	c := tls.Client(right, client)
	err := c.HandshakeContext(t.Context())
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if err != nil {
		_ = right.Close()
	}
	if serverErr := <-refused; serverErr != nil {
		return serverErr
	}
	return err
}
