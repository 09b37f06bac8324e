package permission

import (
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// request is a permission as a file asks for it.
type request struct {
	Allow string `yaml:"allow"`
	Ask   string `yaml:"ask"`
	Deny  string `yaml:"deny"`
	Role  string `yaml:"role"`
	On    string `yaml:"on"`
}

// The fence of the block in which a file of instructions asks for permissions.
const (
	fence = "```"
	block = fence + "yaml permissions"
)

// MaxRequested is how many permissions a file may ask for.
const MaxRequested = 100

// Requested returns the permissions that a file of instructions asks for, in a block
// that begins with ```yaml permissions and lists, below permissions:, rules with
// one of allow, ask and deny, which is a tool or "*" for all, and with on and role.
// None holds before the CEO has signed it. A file without such a
// block asks for none.
//
// Errors: permission/invalid and yaml/..., with the line of the file.
func Requested(file, text string) ([]*loomv1.Permission, error) {
	before, rest, ok := strings.Cut("\n"+text, "\n"+block+"\n")
	if !ok {
		return nil, nil
	}
	body, _, ok := strings.Cut(rest, "\n"+fence)
	if !ok {
		return nil, fault.New("permission/invalid", "the block of permissions has no end").At(file).Want("a line of %s", fence)
	}
	doc, err := strictyaml.Parse(file, []byte(strings.Repeat("\n", strings.Count(before, "\n")+1)+body)) // lines as in the file
	if err != nil {
		return nil, err
	}
	var said struct {
		Permissions []request `yaml:"permissions" loom:"required"`
	}
	doc.Decode(&said)
	if bad := doc.Problems(); len(bad) > 0 {
		return nil, fault.Join(bad)
	}
	var list []*loomv1.Permission
	for i, r := range said.Permissions {
		p, err := r.permission()
		if err != nil {
			doc.Add(fault.From(err), "permissions", i)
			continue
		}
		list = append(list, p)
	}
	if n := len(said.Permissions); n > MaxRequested {
		doc.Add(fault.New("permission/invalid", "%d permissions, at most %d", n, MaxRequested), "permissions")
	}
	return list, fault.Join(doc.Problems())
}

func (r request) permission() (*loomv1.Permission, error) {
	p := &loomv1.Permission{Role: r.Role, Pattern: r.On}
	said := 0
	for _, s := range []struct {
		tool    string
		verdict loomv1.PermissionVerdict
	}{{r.Allow, Allow}, {r.Ask, Ask}, {r.Deny, Deny}} {
		if s.tool != "" {
			said++
			p.Tool, p.Verdict = s.tool, s.verdict
			if p.Tool == "*" {
				p.Tool = ""
			}
		}
	}
	if said != 1 {
		return nil, fault.New("permission/invalid", "it says %d things", said).Want(`one of allow, ask and deny, with a tool or "*"`)
	}
	return p, Check(p)
}
