package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"time"
)

// file is a file of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// tarball packs files below a prefix. The same files give the same bytes: nobody's
// name is in it, and every time is the same.
func tarball(prefix string, files []file, moment time.Time) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	for _, f := range files {
		h := &tar.Header{Name: prefix + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: moment, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// debian packs the program for dpkg: an ar archive of the format's version, what
// dpkg is told, and the files (deb(5)).
func debian(version, arch string, program []byte, pages []file, moment time.Time) ([]byte, error) {
	files := []file{{"usr/bin/loom", 0o755, program}}
	for _, p := range pages {
		at, ok := placeOf(p.name)
		if !ok {
			return nil, fmt.Errorf("%s has no place in a package", p.name)
		}
		files = append(files, file{at, p.mode, p.data})
	}
	size := 0
	for _, f := range files {
		size += len(f.data)
	}
	control := fmt.Sprintf(`Package: loom
Version: %s
Architecture: %s
Maintainer: The Loom authors <loom@loom.invalid>
Installed-Size: %d
Recommends: git
Section: devel
Priority: optional
Homepage: https://github.com/loomrun/loom
Description: supervised teams of AI agents in durable workflows on NATS
 One program with NATS JetStream and SQLite inside. It needs git, and on Linux
 runs what agents run in a sandbox of namespaces, seccomp and Landlock.
`, version, arch, (size+1023)/1024)
	told, err := tarball("./", []file{{"control", 0o644, []byte(control)}}, moment)
	if err != nil {
		return nil, err
	}
	data, err := tarball("./", files, moment)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString("!<arch>\n")
	for _, part := range []file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, told}, {"data.tar.gz", 0o644, data}} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", part.name, moment.Unix(), 0, 0, 0o100000|part.mode, len(part.data))
		out.Write(part.data)
		if len(part.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}
