package roles

// Own is what a role's own tools can get at.
func (r Role) Own(o Openings) Reach { return r.reach(o) }
