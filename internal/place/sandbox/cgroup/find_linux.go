package cgroup

import (
	"path"
	"strings"
)

// find returns the directory of this process's group of version 2, from what
// /proc/self/cgroup and /proc/self/mountinfo say, or "" and why there is none.
func find(groups, mounts string) (dir, why string) {
	own, ok := unified(groups)
	if !ok {
		return "", "this system has no control groups of version 2"
	}
	for line := range strings.Lines(mounts) {
		root, point, ok := mounted(line)
		if !ok {
			continue
		}
		if rest, ok := strings.CutPrefix(own+"/", strings.TrimSuffix(root, "/")+"/"); ok {
			return path.Join(point, rest), ""
		}
	}
	return "", "control groups of version 2 are not mounted where this process is in them"
}

// unified returns the path in the line "0::PATH".
func unified(groups string) (string, bool) {
	for line := range strings.Lines(groups) {
		if own, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path.Clean(own), path.IsAbs(own) && !strings.HasPrefix(own, "/..")
		}
	}
	return "", false
}

// mounted reads a line of mountinfo, "ID PARENT DEVICE ROOT POINT OPTIONS ... -
// TYPE SOURCE ...", see proc(5), if it is of control groups of version 2. Blanks
// in names are written \040.
func mounted(line string) (root, point string, ok bool) {
	head, tail, found := strings.Cut(line, " - ")
	words := strings.Fields(head)
	if !found || len(words) < 6 || !strings.HasPrefix(tail, "cgroup2 ") {
		return "", "", false
	}
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	return plain.Replace(words[3]), plain.Replace(words[4]), true
}
