package host

import (
	"cmp"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Registration is what is said of a project, for a host to register it; its repository
// is not looked at.
func (p Project) Registration() *loomv1.ProjectConfig {
	c := &loomv1.ProjectConfig{
		Id: p.ID, Repository: p.Repository, TargetBranch: p.Branch, Checks: p.Checks, Setup: p.Setup, SetupReads: p.SetupReads, SetupMakes: p.SetupMakes,
		SetupRegistries: p.Registries, Memory: p.Memory, OperatorsAnswer: p.OperatorsAnswer, Remote: p.Remote, Processes: p.Processes, Patch: p.Patch,
	}
	if p.Reporting != nil {
		c.Routes, c.Governor = p.Reporting.Routes, p.Reporting.Governor
	}
	return c
}

// named are the projects that this start names.
func (c Config) named() (list []registry.Named) {
	for _, p := range c.Projects {
		list = append(list, registry.Named{ProjectConfig: p.Registration(), Reporting: p.Reporting, Standing: p.Standing, Kept: p.Kept})
	}
	return list
}

// forAll is what this start says of each project that it registers.
func (c Config) forAll() *loomv1.ProjectConfig {
	all := &loomv1.ProjectConfig{
		Crashes: uint32(c.Crashes), Train: uint32(cmp.Or(c.Train, project.DefaultTrain)), Budget: c.Budget, BeadBudget: c.BeadBudget, DayBudget: c.DayBudget,
	}
	if c.Grace != 0 {
		all.Grace = durationpb.New(c.Grace)
	}
	return all
}

// Away returns why a configured project has no repository now, or nil.
func (h *Host) Away(id string) error { return h.registrar.Away(id) }

// LeftAsItWas reports whether the start has left a configured project as operators had
// it, who added or removed it while a host ran, and if so, whether it is removed.
func (h *Host) LeftAsItWas(id string) (left, removed bool) { return h.registrar.LeftAsItWas(id) }
