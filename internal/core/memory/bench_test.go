package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// large returns a memory of n entries of 15 words each. Words are as frequent as in
// English: the n-th of 20,000 about 1/n as often as the first.
func large(n int) (*memory.Memory, func(int) string) {
	chance := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(chance, 1.1, 4, 20_000)
	text := func(length int) string {
		s := ""
		for range length {
			s += fmt.Sprintf("w%s ", letters(zipf.Uint64()))
		}
		return s
	}
	m := memory.New()
	for i := range n {
		e := &loomv1.MemoryEntry{Id: fmt.Sprintf("m%d", i+1), Type: memory.BuiltinTypes[i%len(memory.BuiltinTypes)], Layer: l2, Trust: agent, Confidence: uint32(i % 101), Text: text(14) + letters(uint64(i))}
		at := timestamppb.New(noon.Add(time.Duration(i) * time.Minute))
		if err := m.Apply(&loomv1.Event{Number: uint64(i + 1), Time: at, Fact: &loomv1.Event_MemoryKept{MemoryKept: &loomv1.MemoryKept{Entry: e}}}); err != nil {
			panic(err)
		}
	}
	return m, text
}

func letters(n uint64) string {
	s := ""
	for ; n > 0; n /= 26 {
		s += string(rune('a' + n%26))
	}
	return s + "q"
}

func BenchmarkRetrieve(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		m, text := large(n)
		m.Retrieve(memory.Question{Text: "w", Now: noon, Tokens: 1})
		var questions []string
		for range 64 {
			questions = append(questions, text(40))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				m.Retrieve(memory.Question{Text: questions[i%64], Now: noon, Tokens: 1024})
			}
		})
	}
}

func BenchmarkKeep(b *testing.B) {
	m, text := large(100_000)
	m.Retrieve(memory.Question{Text: "w", Now: noon, Tokens: 1})
	now := noon
	number := uint64(100_000)
	turn := &memory.Turn{Now: now, Trust: person, Emit: func(e *loomv1.Event) error {
		number++
		e.Number, e.Time = number, timestamppb.New(now)
		return m.Apply(e)
	}}
	for b.Loop() {
		c := &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Entry: entry("decision", text(15))}}}
		if _, err := m.Decide(turn, c); err != nil {
			b.Fatal(err)
		}
	}
}
