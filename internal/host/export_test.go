package host

import "github.com/loomrun/loom/actors"

// Trouble injects an internal error.
func (h *Host) Trouble(t actors.Trouble) { h.trouble(t) }

// SetAside pretends that a message was set aside.
func (h *Host) SetAside(subject string, why error) { h.setAside(subject, why) }
