package membership

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Event is how the deployment's journal has a change of l.
func (l List) Event(d Done) *loomv1.MembersChanged {
	return &loomv1.MembersChanged{
		Lineage: l.Lineage, Generation: d.Generation, At: timestamppb.New(d.At), Joined: d.Joined, Address: d.Address, Removed: d.Removed,
		Invited: d.Invited, Hosts: uint32(d.Hosts), Reason: d.Reason,
	}
}

// Words says what a change did, for people.
func Words(c *loomv1.MembersChanged) string {
	var parts []string
	if c.GetRemoved() != "" {
		parts = append(parts, fmt.Sprintf("host %s removed", c.Removed))
	}
	if c.GetHosts() != 0 {
		parts = append(parts, fmt.Sprintf("%d hosts wanted", c.Hosts))
	}
	if c.GetInvited() {
		parts = append(parts, "newcomers invited, earlier join files count no more")
	}
	switch {
	case c.GetJoined() != "" && c.Address != "":
		parts = append(parts, fmt.Sprintf("host %s is there, at %s", c.Joined, c.Address))
	case c.GetJoined() != "":
		parts = append(parts, fmt.Sprintf("host %s is there", c.Joined))
	}
	return strings.Join(parts, "; ")
}
