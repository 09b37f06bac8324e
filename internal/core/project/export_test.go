package project

// RestAll is Rest that leaves nothing unpacked. Tests call it before every
// command, so that each sees ended executions as they come from the shelf.
func (s *State) RestAll() { s.rest(0) }
