package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// component is one of a CycloneDX bill of materials, version 1.5.
type component struct {
	Type    string     `json:"type"`
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	Purl    string     `json:"purl,omitempty"`
	Hashes  []checksum `json:"hashes,omitempty"`
}

type checksum struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// bill lists what a program was built of, as the program itself says.
func (r *release) bill(_ context.Context, name string, program []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	parts := []component{{Type: "library", Name: "std", Version: info.GoVersion, Purl: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		parts = append(parts, componentOf(m))
	}
	data, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.moment.Format(time.RFC3339),
			"component": component{
				Type: "application", Name: "loom", Version: r.version, Purl: "pkg:golang/" + info.Main.Path + "@" + r.version,
				Hashes: []checksum{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(program))}},
			},
			"properties": []map[string]string{{"name": "commit", "value": r.commit}, {"name": "archive", "value": name + ".tar.gz"}},
		},
		"components": parts,
	}, "", "  ")
	return append(data, '\n'), err
}

func componentOf(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component{Type: "library", Name: m.Path, Version: m.Version, Purl: "pkg:golang/" + m.Path + "@" + m.Version}
}
