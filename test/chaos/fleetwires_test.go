package chaos

import (
	"testing"

	"github.com/loomrun/loom/test/wire"
)

// nowhere is what hosts on wires say of where they are reached: nobody gets
// round the wires.
const nowhere = "127.0.0.1:1"

// wires are the ways from each host to each other one.
type wires [fleetSize][fleetSize]*wire.Wire

func newWires(t *testing.T, addresses []string) *wires {
	t.Helper()
	all := &wires{}
	for i := range fleetSize {
		for j, to := range addresses {
			w, err := wire.New()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Close)
			w.Lead(to)
			all[i][j] = w
		}
	}
	return all
}

// from are the addresses at which host i reaches the others.
func (w *wires) from(i int) (list []string) {
	for j := range fleetSize {
		if j != i {
			list = append(list, w[i][j].Address())
		}
	}
	return list
}

// How a host is cut off.
const (
	silently = "silently" // what it says and hears arrives late
	broken   = "broken"   // both ends see their connections break
	unheard  = "unheard"  // it hears the others, and they do not hear it
)

// isolate cuts host i off from the others.
func (w *wires) isolate(i int, how string) {
	for j := range fleetSize {
		w.part(i, j, how)
	}
}

// part cuts host i off from host j, and from no other.
func (w *wires) part(i, j int, how string) {
	switch how {
	case silently:
		w[i][j].Stall()
		w[j][i].Stall()
	case unheard:
		w[i][j].Mute()
		w[j][i].Deaf()
	default:
		w[i][j].Cut()
		w[j][i].Cut()
	}
}

// heal mends all ways.
func (w *wires) heal() {
	for i := range fleetSize {
		for _, way := range w[i] {
			way.Heal()
		}
	}
}
