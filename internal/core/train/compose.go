package train

import "strings"

// Car is a change that may ride on a train.
type Car struct {
	ID    string
	Files []string // every path that it touches, with "/" between the parts
}

// Compose returns those of the cars, in their order, that may land together: the
// first, and of the others as many as there is room for that touch no file of a
// car before them, on the train or not. Who is left behind waits for its files,
// and so do those behind it that want the same. A path and one below it are the
// same file, since they cannot both be there. Most counts the first; a train has
// at least that one, if there is any.
func Compose(cars []Car, most int) []Car {
	var row []Car
	taken := files{}
	for _, c := range cars {
		if (len(row) < most || len(row) == 0) && !taken.any(c.Files) {
			row = append(row, c)
		}
		taken.add(c.Files)
	}
	return row
}

// files are paths: those that are wanted, and the directories above them.
type files map[string]wanted

type wanted struct{ file, above bool }

func (f files) any(paths []string) bool {
	for _, p := range paths {
		if at := f[p]; at.file || at.above {
			return true
		}
		for dir := range above(p) {
			if f[dir].file {
				return true
			}
		}
	}
	return false
}

func (f files) add(paths []string) {
	for _, p := range paths {
		f[p] = wanted{true, f[p].above}
		for dir := range above(p) {
			f[dir] = wanted{f[dir].file, true}
		}
	}
}

// above yields the directories that a path lies in.
func above(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if !yield(path[:i]) {
				return
			}
		}
	}
}
