package simulation

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// definitions is how many random ones there are. Each is drawn and compiled
// once: compiling takes longer than hundreds of steps.
const definitions = 2000

// auto is in every world.
var auto, _ = processes.Builtin(roles.Builtin()).Get(project.AutoBug)

var (
	pool      [definitions]func() *loomv1.Definition
	smallPool [smallOnes]func() *loomv1.Definition
	cache     sync.Map // what was compiled, by hash, and by message while nobody copies it
)

func init() {
	for i := range pool {
		pool[i] = sync.OnceValue(func() *loomv1.Definition {
			draw := workflowtest.Random
			if i%2 == 1 {
				draw = rich
			}
			return known(draw(rand.New(rand.NewPCG(uint64(i), 7))))
		})
	}
	known(auto)
	known(delegate)
}

func drawn(i int) *loomv1.Definition { return pool[i]() }

func rich(rng *rand.Rand) *loomv1.Definition { return workflowtest.Rich(rng, "child") }

// smallOnes is how many processes there are that do the work of nodes.
const smallOnes = 50

func subprocess(i int) *loomv1.Definition { return smallPool[i]() }

func init() {
	for i := range smallPool {
		smallPool[i] = sync.OnceValue(func() *loomv1.Definition {
			rng := rand.New(rand.NewPCG(uint64(i), 8))
			d := workflowtest.Random(rng)
			if i == 0 { // one that calls itself, until it is too deep
				for d = workflowtest.Rich(rng, "child"); !calls(d); d = workflowtest.Rich(rng, "child") {
				}
			}
			d.Name = "child"
			return known(d)
		})
	}
}

func calls(d *loomv1.Definition) bool {
	return slices.ContainsFunc(d.Nodes, func(n *loomv1.NodeDefinition) bool { return n.Process != "" })
}

// known compiles a definition that everybody shares.
func known(d *loomv1.Definition) *loomv1.Definition {
	c, err := compiled(d)
	if err != nil {
		panic(err)
	}
	cache.Store(d, c)
	return d
}

// compiled is workflow.Compile, once for each definition.
func compiled(d *loomv1.Definition) (*workflow.Compiled, error) {
	if c, ok := cache.Load(d); ok {
		return c.(*workflow.Compiled), nil
	}
	hash := processes.Hash(d)
	if c, ok := cache.Load(hash); ok {
		return c.(*workflow.Compiled), nil
	}
	c, err := workflow.Compile(d)
	if err == nil {
		cache.Store(hash, c)
	}
	return c, err
}
