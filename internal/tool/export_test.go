package tool

// Draft names the draft of a call that writes the file.
func (s *Set) Draft(file, id string) string { return place{name: file}.draft(id) }
