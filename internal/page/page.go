// Package page is the page that a host shows in a browser: what waits for a person, what
// runs, and a signature with the browser's own key over exactly what is shown. Its
// sources are beside this file, README.md says how they are built; what was built is in
// the program.
//
// It promises files that were built from those sources, which is checked by building
// them again, and that ask for nothing outside of the host.
package page

import (
	"embed"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files are index.html and what it needs, below assets.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the name is a good one
	}
	return files
}
