package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stream is a work queue: first in, first out, and never two tickets of a name,
// be it that one of them is with an agent.
type stream struct{ tickets []*ticket }

type ticket struct {
	*loomv1.Assignment
	pulled bool
}

func (s *stream) put(list []*loomv1.Assignment) {
	for _, a := range list {
		if !slices.ContainsFunc(s.tickets, func(t *ticket) bool { return t.Attempt == a.Attempt && t.Generation == a.Generation }) {
			s.tickets = append(s.tickets, &ticket{Assignment: a})
		}
	}
}

func (s *stream) pull(role string) *ticket {
	for _, t := range s.tickets {
		if t.Role == role && !t.pulled {
			t.pulled = true
			return t
		}
	}
	return nil
}

func (s *stream) drop(t *ticket) {
	s.tickets = slices.DeleteFunc(s.tickets, func(o *ticket) bool { return o == t })
}

// mill is a yard with its tickets in a stream.
type mill struct {
	*yard
	tickets project.Tickets
	stream  stream
	most    int // tickets ever there at once, but for those with agents
}

func (m *mill) offer() {
	m.stream.put(m.tickets.Offer(m.s))
	n := 0
	for _, t := range m.stream.tickets {
		if !t.pulled {
			n++
		}
	}
	m.most = max(m.most, n)
}

// claim has an agent come with a ticket, which stays in the stream.
func (m *mill) claim(t *ticket, who *loomv1.Claimant) *loomv1.Attempt {
	c := &loomv1.ClaimAttempt{Attempt: t.Attempt, Generation: t.Generation, Claimant: who, Any: true}
	answer, err := m.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: c}})
	if err != nil && fault.Code(err) != "attempt/stale" {
		m.fatal.Fatalf("claim with %v: %v", t.Assignment, err)
	}
	m.tickets.Spent(c)
	m.offer()
	return answer.GetBrief().GetAttempt()
}

// TestROLE02_WorkIsNeverWithoutATicket has agents pull, claim, and take their
// tickets off the queue later; while nothing is lost there is a ticket for each
// role that work waits for, without any sweep. Tickets may be doubled.
func TestROLE02_WorkIsNeverWithoutATicket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &mill{yard: newYard(t, "researcher", "researcher", "implementer")}
		var acks []*ticket
		held := map[string]*loomv1.Attempt{}
		t.Repeat(map[string]func(*rapid.T){
			"file": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "beads") {
					m.file("fan", rapid.SampledFrom([]loomv1.Priority{urgent, normal}).Draw(t, "priority"))
					m.offer()
				}
			},
			"claim": func(t *rapid.T) {
				who := agentOf(rapid.SampledFrom([]string{"researcher", "implementer"}).Draw(t, "role"), rapid.IntRange(1, 30).Draw(t, "agent"))
				pulled := m.stream.pull(roleName(who))
				if held[who.Agent] != nil || pulled == nil {
					if pulled != nil {
						pulled.pulled = false
					}
					return // it has work, or there is none
				}
				if a := m.claim(pulled, who); a != nil {
					held[who.Agent] = a
				}
				acks = append(acks, pulled)
			},
			"acknowledge": func(t *rapid.T) {
				if len(acks) == 0 {
					return
				}
				m.stream.drop(acks[0])
				acks = acks[1:]
			},
			"answer": func(t *rapid.T) {
				for _, agent := range []string{"researcher/1", "researcher/2", "implementer/1", "researcher/9"} {
					if a := held[agent]; a != nil {
						delete(held, agent)
						m.answer(a.Id, a.Claimant, rapid.SampledFrom([]loomv1.OutcomeStatus{success, more}).Draw(t, "outcome"))
						m.offer()
						return
					}
				}
			},
			"delivered again": func(t *rapid.T) {
				if len(m.stream.tickets) > 0 {
					rapid.SampledFrom(m.stream.tickets).Draw(t, "ticket").pulled = false
				}
			},
			"sweep": func(*rapid.T) {
				m.stream.put(m.tickets.Again())
				m.offer()
			},
			"": func(t *rapid.T) {
				for _, a := range m.s.Queued() {
					if !slices.ContainsFunc(m.stream.tickets, func(o *ticket) bool { return o.Role == a.Role && !o.pulled }) {
						t.Fatalf("%s waits and there is no ticket for %s; tickets %v", a.Attempt, a.Role, m.stream.tickets)
					}
				}
			},
		})
	})
}

func roleName(c *loomv1.Claimant) string {
	role, _, _ := strings.Cut(c.Agent, "/")
	return role
}

// TestF1_WhateverBecomesOfTicketsAllWorkIsDone loses, doubles and makes up
// tickets; a sweep now and then is enough to have all work done, and there are
// never many tickets at once.
func TestF1_WhateverBecomesOfTicketsAllWorkIsDone(t *testing.T) {
	longtest.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &mill{yard: newYard(t, "researcher", "researcher")}
		beads := rapid.IntRange(1, 60).Draw(t, "beads")
		for range beads {
			m.file("fan", rapid.SampledFrom([]loomv1.Priority{urgent, normal}).Draw(t, "priority"))
		}
		m.offer()
		done := 0
		for round := 0; len(m.s.Queued()) > 0; round++ {
			if round > 50*beads {
				t.Fatalf("after %d rounds %d attempts wait; tickets %v", round, len(m.s.Queued()), m.stream.tickets)
			}
			who := agentOf("researcher", 1)
			p := m.stream.pull("researcher")
			if p == nil {
				m.stream.put(m.tickets.Again())
				m.offer()
				continue
			}
			a := (*loomv1.Attempt)(nil)
			switch rapid.SampledFrom([]string{"", "", "", "lost", "all lost", "made up", "twice", "restart"}).Draw(t, "fate") {
			case "lost":
			case "all lost":
				m.stream.tickets = nil
			case "made up":
				m.stream.put([]*loomv1.Assignment{{Role: "researcher", Attempt: fmt.Sprintf("shop-%d-x1-a7", round), Generation: 3}})
			case "twice":
				if a = m.claim(p, who); a != nil {
					again := m.claim(p, who)
					if again.GetId() != a.Id {
						t.Fatalf("the same claim gives %s and then %s", a.Id, again.GetId())
					}
				}
			case "restart":
				m.tickets = project.Tickets{}
				m.offer()
				a = m.claim(p, who)
			default:
				a = m.claim(p, who)
			}
			m.stream.drop(p)
			if a != nil {
				m.answer(a.Id, who, success)
				m.offer()
				done++
			}
		}
		if done != 2*beads {
			t.Fatalf("%d attempts were done, want %d", done, 2*beads)
		}
	})
}

// TestWF12_AProjectHasFewTicketsInTheQueue wants the window kept, whatever
// waits, and widened for many agents.
func TestWF12_AProjectHasFewTicketsInTheQueue(t *testing.T) {
	m := &mill{yard: newYard(t, "researcher")}
	for range 100 {
		m.file("fan", normal)
		m.offer()
	}
	if m.most != 16 {
		t.Errorf("%d tickets for 100 attempts, want 16", m.most)
	}
	for i := range 100 {
		p := m.stream.pull("researcher")
		if p == nil {
			t.Fatalf("no ticket after %d claims", i)
		}
		m.claim(p, agentOf("researcher", i))
		m.stream.drop(p)
	}
	if left := len(m.s.Queued()); m.most != 16 || left != 0 || len(m.stream.tickets) != 0 {
		t.Errorf("%d tickets at once, and at the end %d attempts and %d tickets, want 16, none and none", m.most, left, len(m.stream.tickets))
	}
}

// TestROLE02_TicketsOutlastWorkThatOvertakes has urgent work claimed with the
// tickets of work that goes on waiting.
func TestROLE02_TicketsOutlastWorkThatOvertakes(t *testing.T) {
	fill := func(t *testing.T, waits int) *mill {
		m := &mill{yard: newYard(t, "researcher")}
		for range waits {
			m.file("fan", normal)
			m.offer()
		}
		return m
	}
	t.Run("while they linger in the queue with their agents", func(t *testing.T) {
		m := fill(t, 40)
		for i := range 20 {
			m.file("fan", urgent)
			m.offer()
			p := m.stream.pull("researcher")
			if p == nil {
				t.Fatalf("no ticket for the urgent attempt %d while %d wait", i, len(m.s.Queued()))
			}
			m.claim(p, agentOf("researcher", i))
		}
	})
	t.Run("when each was used once", func(t *testing.T) {
		m := fill(t, 17)
		for range 17 {
			m.file("fan", urgent)
			m.offer()
		}
		for i := range 34 {
			p := m.stream.pull("researcher")
			if p == nil {
				t.Fatalf("no ticket after %d claims while %d wait", i, len(m.s.Queued()))
			}
			m.stream.drop(p)
			m.claim(p, agentOf("researcher", i))
		}
	})
}
