package cgroup

import (
	"os"
	"strings"
	"testing"
)

const (
	v2     = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	hybrid = "38 37 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n39 37 0:34 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	bound  = "900 800 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
	blank  = `29 23 0:26 / /mnt/control\040groups rw - cgroup2 cgroup2 rw` + "\n"
)

func TestTOOL03_WhereThisProcessIs(t *testing.T) {
	for _, c := range []struct{ name, groups, mounts, dir, why string }{
		{"a service", "0::/system.slice/loom.service\n", v2, "/sys/fs/cgroup/system.slice/loom.service", ""},
		{"the root of a namespace", "0::/\n", v2, "/sys/fs/cgroup", ""},
		{"both versions", "8:pids:/a\n0::/b\n", hybrid, "/sys/fs/cgroup/unified/b", ""},
		{"a part that is mounted", "0::/docker/abc/x\n", bound, "/sys/fs/cgroup/x", ""},
		{"all of the part", "0::/docker/abc\n", bound, "/sys/fs/cgroup", ""},
		{"another part", "0::/docker/abcd\n", bound, "", "not mounted where"},
		{"a blank in a name", "0::/a\n", blank, "/mnt/control groups/a", ""},
		{"version 1 alone", "8:pids:/a\n", hybrid, "", "no control groups of version 2"},
		{"none", "", "", "", "no control groups of version 2"},
		{"not mounted", "0::/a\n", "", "", "not mounted where"},
		{"out of the namespace", "0::/../other\n", v2, "", "no control groups of version 2"},
		{"a broken line", "0::/a\n", "29 23 - cgroup2 x y\n", "", "not mounted where"},
	} {
		dir, why := find(c.groups, c.mounts)
		if dir != c.dir || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, dir, why, c.dir, c.why)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("0::/docker/abc/x\n", bound)
	f.Add("8:pids:/a\n0::/b\n", hybrid)
	f.Fuzz(func(t *testing.T, groups, mounts string) {
		if dir, why := find(groups, mounts); (dir == "") == (why == "") {
			t.Errorf("%q, %q", dir, why)
		}
	})
}

func TestTOOL03_WhatTheKernelEnded(t *testing.T) {
	for events, want := range map[string]bool{
		"low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n": true,
		"low 0\nhigh 0\nmax 12\noom 3\noom_kill 0\noom_group_kill 0\n": false,
		"": false,
	} {
		if got := Killed(strings.NewReader(events)); got != want {
			t.Errorf("Killed(%q) = %t", events, got)
		}
	}
}

// One that is made while another waits for its command leaves that alone: nobody
// is in it yet, and the kernel would let it be taken away.
func TestTOOL03_AGroupWaitsForItsCommand(t *testing.T) {
	tree := &Tree{dir: t.TempDir()} // as the kernel's, for all that is done here
	first, err := tree.begin()
	if err != nil {
		t.Fatal(err)
	}
	second, err := tree.begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Group{first, second} {
		if _, err := os.Stat(g.path); err != nil {
			t.Errorf("a group that waits is gone: %v", err)
		}
	}
	tree.ended(first)
	tree.sweep()
	if _, err := os.Stat(first.path); !os.IsNotExist(err) {
		t.Errorf("one that has ended is still there: %v", err)
	}
	if _, err := os.Stat(second.path); err != nil {
		t.Errorf("one that waits is gone: %v", err)
	}
}

// Looking changes nothing, and says what taking then finds.
func TestTOOL03_LookingChangesNothing(t *testing.T) {
	before, _ := os.ReadFile("/proc/self/cgroup")
	why := Look()
	if after, _ := os.ReadFile("/proc/self/cgroup"); string(after) != string(before) {
		t.Fatalf("this process was in %q and is in %q", before, after)
	}
	tree, err := Delegated()
	if (why == "") != (err == nil) {
		t.Fatalf("Look says %q, Delegated %v", why, err)
	}
	if err != nil {
		t.Logf("NOT RUN with a group: %v", err)
		if after, _ := os.ReadFile("/proc/self/cgroup"); string(after) != string(before) {
			t.Errorf("refused, and this process was moved from %q to %q", before, after)
		}
		return
	}
	again, err := Delegated()
	if err != nil || again.dir != tree.dir {
		t.Errorf("a second time: %v, %v; want %s", again, err, tree.dir)
	}
	g, err := tree.Group(64<<20, 16)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(g.path + "/memory.max"); err != nil || strings.TrimSpace(string(data)) != "67108864" {
		t.Errorf("memory.max is %q (%v)", data, err)
	}
	g.Close()
	g.Close()
	if _, err := os.Stat(g.path); !os.IsNotExist(err) {
		t.Errorf("a group that is closed is still there: %v", err)
	}
	if err := os.Mkdir(tree.dir+"/command-1-1", 0o755); err != nil {
		t.Fatal(err)
	}
	if g, err = tree.Group(64<<20, 16); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := os.Stat(tree.dir + "/command-1-1"); !os.IsNotExist(err) {
		t.Errorf("what an earlier host has left is still there: %v", err)
	}
}
