package decisions

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	_ "modernc.org/sqlite"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	nodes = 100_000
	chain = 20 // decisions of a bead
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// node is the i-th decision: a goal for all, and a chain for each bead.
func node(i int) *loomv1.DecisionNode {
	n := &loomv1.DecisionNode{
		Id: fmt.Sprintf("d%d", i), Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE,
		Title: fmt.Sprintf("decision %d about topic%d", i, i%977), Confidence: uint32(i % 101),
		Bead: fmt.Sprintf("demo-%d", (i-2)/chain), Time: timestamppb.New(epoch.Add(time.Duration(i) * time.Second)),
	}
	if i == 1 {
		n.Type, n.Bead = loomv1.DecisionType_DECISION_TYPE_GOAL, ""
	}
	return n
}

// parent is what led to the i-th decision.
func parent(i int) int {
	if (i-2)%chain == 0 {
		return 1
	}
	return i - 1
}

var inMemory = sync.OnceValues(func() (*graph.Graph, uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := &loomv1.DecisionGraph{}
	for i := 1; i <= nodes; i++ {
		all.Nodes = append(all.Nodes, node(i))
		if i > 1 {
			all.Edges = append(all.Edges, &loomv1.DecisionEdge{
				Id: uint64(i - 1), From: fmt.Sprintf("d%d", parent(i)), To: fmt.Sprintf("d%d", i),
				Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO, Weight: 1,
			})
		}
	}
	g, err := graph.Restore(all)
	if err != nil {
		panic(err)
	}
	g.Search("warm", graph.Filter{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	return g, after.HeapAlloc - before.HeapAlloc
})

const schema = `
pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -65536;
create table node (id integer primary key, type integer, status integer, title text, confidence integer, bead text, time integer);
create table edge (id integer primary key, source integer, target integer, type integer);
create index node_bead on node (bead); create index node_type on node (type, status, id);
create index edge_source on edge (source); create index edge_target on edge (target);
create virtual table words using fts5 (title, content='node', content_rowid='id');`

func inTables(b *testing.B) *sql.DB {
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "graph.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	tx := begin(b, db)
	for i := 1; i <= nodes; i++ {
		insert(b, tx, i)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return db
}

func begin(b *testing.B, db *sql.DB) *sql.Tx {
	if _, err := db.Exec(schema); err != nil {
		b.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	return tx
}

type executor interface {
	Exec(query string, args ...any) (sql.Result, error)
}

func insert(b *testing.B, tx executor, i int) {
	n := node(i)
	run := func(query string, args ...any) {
		if _, err := tx.Exec(query, args...); err != nil {
			b.Fatal(err)
		}
	}
	run("insert into node values (?, ?, ?, ?, ?, ?, ?)", i, n.Type, n.Status, n.Title, n.Confidence, n.Bead, n.Time.Seconds)
	run("insert into words (rowid, title) values (?, ?)", i, n.Title)
	if i > 1 {
		run("insert into edge (source, target, type) values (?, ?, 1)", parent(i), i)
	}
}

// count runs a query to its end and wants so many rows.
func count(b *testing.B, db *sql.DB, want int, query string, args ...any) {
	rows, err := db.Query(query, args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	n := 0
	var id int
	var title string
	for rows.Next() {
		if err := rows.Scan(&id, &title); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != want {
		b.Fatalf("%d rows, want %d (%v)", n, want, err)
	}
}

func memory(b *testing.B) *graph.Graph {
	g, bytes := inMemory()
	b.ReportAllocs()
	b.ResetTimer()
	b.Cleanup(func() { b.ReportMetric(float64(bytes)/nodes, "heap-B/node") }) // the loop forgets what was there before
	return g
}

func BenchmarkGRAPH02_Search(b *testing.B) {
	want := nodes / 977 // decisions of a topic, or one more
	b.Run("graph", func(b *testing.B) {
		g := memory(b)
		for b.Loop() {
			if n := len(g.Search("decision topic500", graph.Filter{})); n < want {
				b.Fatal(n)
			}
		}
	})
	b.Run("sqlite", func(b *testing.B) {
		db := inTables(b)
		for b.Loop() {
			count(b, db, want, "select n.id, n.title from words w join node n on n.id = w.rowid where words match 'decision AND topic500*' order by n.id desc limit ?", want)
		}
	})
}

func BenchmarkGRAPH02_Ancestors(b *testing.B) {
	last := 1 + chain*2500
	b.Run("graph", func(b *testing.B) {
		g := memory(b)
		for b.Loop() {
			if n := len(g.Ancestors(fmt.Sprintf("d%d", last))); n != chain {
				b.Fatal(n)
			}
		}
	})
	b.Run("sqlite", func(b *testing.B) {
		db := inTables(b)
		for b.Loop() {
			count(b, db, chain, `with recursive up (id) as (select source from edge where target = ?
				union select e.source from edge e join up on e.target = up.id) select n.id, n.title from up join node n on n.id = up.id`, last)
		}
	})
}

func BenchmarkGRAPH02_Bead(b *testing.B) {
	b.Run("graph", func(b *testing.B) {
		g := memory(b)
		for b.Loop() {
			if n := len(g.List(graph.Filter{Bead: "demo-2500"})); n != chain {
				b.Fatal(n)
			}
		}
	})
	b.Run("sqlite", func(b *testing.B) {
		db := inTables(b)
		for b.Loop() {
			count(b, db, chain, "select id, title from node where bead = ?", "demo-2500")
		}
	})
}

// The graph's context has the ranks of graph.Context; the tables' is the same
// choice in the fewest queries: the bead's decisions, what is linked to them,
// active goals, and the newest decisions.
func BenchmarkGRAPH04_Context(b *testing.B) {
	b.Run("graph", func(b *testing.B) {
		g := memory(b)
		for b.Loop() {
			if c := g.Context(graph.Work{Bead: "demo-2500"}, 1024); len(c.Items) < chain {
				b.Fatal(len(c.Items))
			}
		}
	})
	b.Run("sqlite", func(b *testing.B) {
		db := inTables(b)
		for b.Loop() {
			count(b, db, chain, "select id, title from node where bead = ? and status = 1 order by id desc limit 50", "demo-2500")
			count(b, db, 1, "select distinct n.id, n.title from node m join edge e on e.target = m.id join node n on n.id = e.source where m.bead = ? and n.bead <> m.bead", "demo-2500")
			count(b, db, 1, "select id, title from node where type = 1 and status = 1 order by id desc limit 20")
			count(b, db, 50, "select id, title from node where type = 2 and status = 1 order by id desc limit 50")
		}
	})
}

// Adding is deciding, checking and applying; the journal's commit is in
// neither.
func BenchmarkGRAPH02_Add(b *testing.B) {
	b.Run("graph", func(b *testing.B) {
		g := memory(b)
		for b.Loop() {
			events, err := g.Add(&loomv1.AddDecision{
				Node:  &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: "another", Confidence: 50, Bead: "demo-more"},
				Links: []*loomv1.DecisionEdge{{From: "d50000", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}},
			})
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range events {
				if err := g.Apply(e); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("sqlite", func(b *testing.B) {
		db := inTables(b)
		next := nodes
		for b.Loop() {
			next++
			tx, err := db.Begin()
			if err != nil {
				b.Fatal(err)
			}
			insert(b, tx, next)
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
