package roles_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/roles"
)

func TestTOOL03_ARoleSaysItsSandbox(t *testing.T) {
	got, err := roles.Parse("poet.yaml", []byte(sound+"sandbox: {memory_mib: 16, processes: 4, file_mib: 1, open_files: 16, cpu: 24h, network: none}\n"))
	want := roles.Sandbox{MemoryMiB: 16, Processes: 4, FileMiB: 1, OpenFiles: 16, CPU: 24 * time.Hour, Network: roles.NetworkNone}
	if err != nil || got.Sandbox != want {
		t.Errorf("%+v, %v", got.Sandbox, err)
	}
	for text, want := range map[string][]string{
		"sandbox: {memory_mib: 15, processes: 3, file_mib: 0, open_files: 15, cpu: 1ms, network: all}\n": {
			`r:4:23 role/invalid "15"`, `r:4:38 role/invalid "3"`, `r:4:51 role/invalid "0"`, `r:4:66 role/invalid "15"`, `r:4:75 role/invalid "1ms"`, `r:4:89 role/invalid "all"`,
		},
		"sandbox: {memory_mib: 1048577, processes: 32769, file_mib: 1048577, open_files: 1048577, cpu: 25h}\n": {
			`r:4:23 role/invalid "1048577"`, `r:4:43 role/invalid "32769"`, `r:4:60 role/invalid "1048577"`, `r:4:81 role/invalid "1048577"`, `r:4:95 role/invalid "25h0m0s"`,
		},
		"sandbox: {memory: 1}\n":      {`r:4:11 yaml/unknown-key "memory"`},
		"sandbox: {memory_mib: 1k}\n": {`r:4:23 yaml/type "1k"`},
	} {
		_, err := roles.Parse("r", []byte(sound+text))
		if diff := cmp.Diff(want, listing(err)); diff != "" {
			t.Errorf("%swant -, got +:\n%s", text, diff)
		}
	}
	if _, err := roles.Parse("r", []byte("name: boss\nsummary: s\nhuman: true\nsandbox: {cpu: 1m}\n")); fault.Code(err) != "role/invalid" {
		t.Errorf("a person has a sandbox: %v", err)
	}
}

// TestTOOL03_TheHostsMostHoldsOverARolesWish has roles ask for less than a host
// gives, for more, and for nothing.
func TestTOOL03_TheHostsMostHoldsOverARolesWish(t *testing.T) {
	host := roles.DefaultSandbox()
	less := roles.Sandbox{MemoryMiB: 64, DiskMiB: 32, Processes: 8, FileMiB: 2, OpenFiles: 32, CPU: time.Minute, Network: roles.NetworkNone}
	more := roles.Sandbox{MemoryMiB: 1 << 20, DiskMiB: 1 << 20, Processes: 1 << 15, FileMiB: 1 << 20, OpenFiles: 1 << 20, CPU: time.Hour, Network: roles.NetworkHost}
	open := host
	open.Network = roles.NetworkHost
	for _, tt := range []struct {
		name       string
		wish, most roles.Sandbox
		want       roles.Sandbox
		beyond     []string
	}{
		{"nothing", roles.Sandbox{}, host, host, nil},
		{"less", less, host, less, nil},
		{"more", more, host, host, []string{"memory_mib", "disk_mib", "processes", "file_mib", "open_files", "cpu", "network"}},
		{"as much", host, host, host, nil},
		{"one thing", roles.Sandbox{MemoryMiB: 4096}, host, host, []string{"memory_mib"}},
		{"a network that is given", roles.Sandbox{Network: roles.NetworkHost}, open, open, nil},
		{"a host that gives little", roles.Sandbox{}, less, less, nil},
		{"nothing said, of a network of the host", roles.Sandbox{Network: roles.NetworkLoopback}, open, host, nil},
	} {
		if got := tt.wish.Within(tt.most); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(tt.beyond, tt.wish.Beyond(tt.most)); diff != "" {
			t.Errorf("%s: beyond, want -, got +:\n%s", tt.name, diff)
		}
	}
}

func TestTOOL03_TheHostsMostIsReadStrictly(t *testing.T) {
	got, err := roles.ParseSandbox(map[string]string{"memory_mib": "512", "cpu": "5m", "network": "host"})
	if want := (roles.Sandbox{MemoryMiB: 512, CPU: 5 * time.Minute, Network: roles.NetworkHost}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := roles.ParseSandbox(nil); err != nil || got != (roles.Sandbox{}) {
		t.Errorf("nothing is %+v, %v", got, err)
	}
	for key, value := range map[string]string{
		"memory_mib": "15", "processes": "many", "file_mib": "", "open_files": "1048577", "cpu": "90", "network": "internet", "memory": "512",
	} {
		if _, err := roles.ParseSandbox(map[string]string{key: value}); fault.Code(err) != "usage/argument" {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	if _, err := roles.ParseSandbox(map[string]string{"cpu": "90", "memory": "512"}); len(listing(err)) != 2 {
		t.Errorf("not all that is wrong is named: %v", err)
	}
}

func TestTOOL03_TheNetworkOfTheHostIsAWayOut(t *testing.T) {
	wide := roles.Role{Name: "wide", Tools: roles.Tools{Allow: []string{"shell"}}, Sandbox: roles.Sandbox{Network: roles.NetworkHost}}
	set, err := roles.Builtin().With(wide)
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Reach("wide", roles.Openings{}); r.Out {
		t.Errorf("where the host does not give it: %+v", r)
	}
	given := roles.Openings{Sandbox: roles.Sandbox{Network: roles.NetworkHost}}
	if r := set.Reach("wide", given); !r.All() {
		t.Errorf("where the host gives it: %+v", r)
	}
	if other, _ := set.Get("implementer"); other.Own(given).Out {
		r := other.Own(given)
		t.Errorf("a role that does not ask has what the host gives to others: %+v", r)
	}
}
