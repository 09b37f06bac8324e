package actors

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// FailCell has the shell of a cell panic when the keeper has acknowledged something.
func (p *Projects) FailCell(id string, name loomv1.Core) {
	at := p.addresses[p.of(id)].find(id)
	p.sys.sys.Root.Send(at.of(name).Load(), &request{cmd: &loomv1.Command{}, reply: func(*loomv1.Answer) { panic("planted") }})
}

// Life returns which life a project has.
func (p *Projects) Life(id string) uint64 {
	return p.addresses[p.of(id)].find(id).domain.Load().life
}
