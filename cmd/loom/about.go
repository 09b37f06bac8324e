package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/ceokey"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "is a host running, and what does it do", Args: takes(),
		Example: "  loom status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				h, err := c.Host(cmd.Context())
				if err != nil {
					return err
				}
				return a.print(h, func(w io.Writer) { hostText(w, h) })
			})
		},
	}
}

func hostText(w io.Writer, h *loomv1.HostReply) {
	fmt.Fprintf(w, "host %s of deployment %s, loom %s, start %d, up since %s\n", h.Host, h.Deployment, h.Version, h.Epoch, stamp(h.StartedAt))
	fmt.Fprintf(w, "model %s\nCEO key %s\nprojects %s\n\n", dash(h.Model), h.Ceo, dash(strings.Join(h.Projects, ", ")))
	roleTable(w, h.Roles)
}

func roleTable(w io.Writer, list []*loomv1.RoleCount) {
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		rows = append(rows, []string{r.Role, strconv.Itoa(int(r.Desired)), strconv.Itoa(int(r.Actual)), strconv.Itoa(int(r.Busy))})
	}
	table(w, []string{"role", "desired", "agents", "busy"}, rows)
}

func (a *app) role() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "the built-in roles and what they may use", Args: takes(),
		Example: "  loom role list\n  loom role list --json",
		RunE:    func(*cobra.Command, []string) error { return a.roles(roles.Builtin()) },
	}
	check := &cobra.Command{
		Use: "check FILE", Short: "print everything that is wrong with a role file", Args: takes("FILE"),
		Example: "  loom role check my-role.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.read(args[0])
			if err != nil {
				return err
			}
			_, err = roles.Parse(args[0], data)
			return a.problems(err)
		},
	}
	return group("role", "list and check roles", "  loom role list\n  loom role check my-role.yaml", list, check)
}

func (a *app) workflow() *cobra.Command {
	validate := &cobra.Command{
		Use: "validate FILE", Short: "print everything that is wrong with a workflow file", Args: takes("FILE"),
		Long:    "Validate reads a workflow file and prints what is wrong with it, all at once, as\nFILE:LINE:COL: CODE: sentence; it exits 3 then. With --json it prints a list.",
		Example: "  loom workflow validate process.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.read(args[0])
			if err != nil {
				return err
			}
			_, err = processes.Parse(args[0], data, roles.Builtin())
			return a.problems(err)
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "the built-in workflows", Args: takes(),
		Example: "  loom workflow list",
		RunE:    func(*cobra.Command, []string) error { return a.workflows(processes.Builtin(roles.Builtin())) },
	}
	return group("workflow", "list and validate workflows", "  loom workflow validate process.yaml", list, validate)
}

// roles writes what each role is for and may use.
func (a *app) roles(set *roles.Set) error {
	type row struct {
		Name    string   `json:"name"`
		Summary string   `json:"summary"`
		Tools   []string `json:"tools"`
	}
	var list []row
	var rows [][]string
	for _, name := range set.Names() {
		r, _ := set.Get(name)
		list = append(list, row{r.Name, r.Summary, r.Tools.Allow})
		rows = append(rows, []string{r.Name, line(r.Summary, 60), strings.Join(r.Tools.Allow, " ")})
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{"roles": list})
	}
	table(a.out, []string{"role", "what it does", "tools"}, rows)
	return nil
}

// workflows writes what each workflow is for.
func (a *app) workflows(lib *processes.Library) error {
	var list []json.RawMessage
	var rows [][]string
	for _, name := range lib.Names() {
		d, _ := lib.Get(name)
		list = append(list, jsonOf(d))
		rows = append(rows, []string{name, d.Version, line(d.Description, 80)})
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{"workflows": list})
	}
	table(a.out, []string{"workflow", "version", "what it does"}, rows)
	return nil
}

// problems prints what is wrong with a file, one FILE:LINE:COL: CODE: sentence
// a line, or all as a JSON list on standard output.
func (a *app) problems(err error) error {
	all := []*fault.Error{}
	if f := fault.From(err); f != nil {
		all = append(append(all, f), f.More...)
	}
	if a.json {
		list := []json.RawMessage{}
		for _, p := range all {
			one := *p
			one.More = nil
			list = append(list, jsonOf(one.Proto()))
		}
		if werr := json.NewEncoder(a.out).Encode(list); werr != nil {
			return werr
		}
	}
	if err == nil {
		return nil
	}
	if a.json {
		return exitError{fault.Status(err)}
	}
	for _, p := range all {
		text := p.Message
		if p.Value != "" {
			text += " (got " + p.Value + ")"
		}
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		fmt.Fprintf(a.err, "%s: %s: %s\n", p.Where, p.Code, printable(text))
	}
	return exitError{fault.Status(err)}
}

func (a *app) auth() *cobra.Command {
	var path string
	ceo := &cobra.Command{
		Use: "ceo [flags]", Short: "show the CEO's public key, making the key if there is none", Args: takes(),
		Long:    "Ceo shows the public half of the key that approvals are signed with, and where\nthe key is kept. The key is outside every data directory; whoever can read the\nfile can approve.",
		Example: "  loom auth ceo",
		RunE: func(*cobra.Command, []string) error {
			if path == "" {
				var err error
				if path, err = ceokey.DefaultPath(); err != nil {
					return err
				}
			}
			key, created, err := ceokey.OpenOrCreate(path)
			if err != nil {
				return err
			}
			return a.print(&loomv1.HostReply{Ceo: key.Public()}, func(w io.Writer) {
				fmt.Fprintf(w, "%s\n", key.Public())
				if created {
					fmt.Fprintf(a.err, "made %s\n", path)
				} else {
					fmt.Fprintf(a.err, "kept in %s\n", path)
				}
			})
		},
	}
	ceo.Flags().StringVar(&path, "key", "", "the key `FILE` (default: in your configuration directory)")
	return group("auth", "keys and identities", "  loom auth ceo", ceo)
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "what this is", Args: takes(), Example: "  loom version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return json.NewEncoder(a.out).Encode(map[string]string{"version": host.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			fmt.Fprintf(a.out, "loom %s (github.com/loomrun/loom) %s %s/%s\n", host.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
