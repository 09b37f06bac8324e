package repomap

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
)

// Ranked is a file with how much it has to do with the work.
type Ranked struct {
	File
	Score float64
	// Named says that the work names the file, or has touched it.
	Named bool
}

// Parameters of the ranking.
const (
	definers = 5    // a name that more files than these declare leads nowhere
	damping  = 0.5  // how much of a file's rank goes on to those it refers to
	rounds   = 12   // of PageRank
	linked   = 0.35 // what being referred to counts beside the words
)

// Rank orders files by how much they have to do with the work, the most first:
// those that were located, those that are named, then by words and references. The order of the files
// that are given does not matter.
func Rank(files []File, w Work) []Ranked {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	files = slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path })
	r := &ranking{files: files, ask: ask(w.Text), weights: make([]float64, len(files))}
	for i, f := range files {
		r.weights[i] = f.weight()
	}
	fit := r.fit()
	located := r.named(w.Located)
	named := r.named(slices.Concat(r.ask.paths, w.Touched, w.Located))
	start := make([]float64, len(files))
	for i := range files {
		start[i] = fit[i] * fit[i] * r.weights[i]
		if named[i] > 0 {
			start[i] += named[i]
		}
	}
	flow := r.flow(start)
	list := make([]Ranked, len(files))
	for i, f := range files {
		list[i] = Ranked{f, r.weights[i]*(fit[i]+linked*flow[i]) + 10*named[i] + 10*located[i], named[i] > 0}
	}
	slices.SortFunc(list, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Path, b.Path)) })
	return list
}

type ranking struct {
	files   []File // by path
	ask     question
	weights []float64
}

// fit is how well the words of each file fit the question's, at most 1: BM25
// over the words of the text, in which the words of the path and of what is
// declared count more than once.
func (r *ranking) fit() []float64 {
	type row struct {
		text   []Count
		extra  map[uint32]float64
		length float64
	}
	rows := make([]row, len(r.files))
	holding := map[uint32]int{}  // files with a word of the question
	declared := map[string]int{} // files that declare a name of the question
	total := 0.0
	for i, f := range r.files {
		row := row{text: f.Outline.Words, extra: map[uint32]float64{}}
		eachName(f.Path, func(name string) {
			eachWord(name, func(w string) { row.extra[hash(w)] += 4 })
		})
		for _, s := range f.Outline.Symbols {
			eachWord(s.Name, func(w string) {
				if h := hash(w); r.ask.words[h] > 0 {
					row.extra[h] = min(row.extra[h]+1.5, 10)
				}
			})
			if r.ask.names[s.Name] {
				declared[s.Name]++
			}
		}
		for _, c := range row.text {
			row.length += float64(c.N)
		}
		for h := range r.ask.words {
			if row.extra[h] > 0 || numberOf(row.text, h) > 0 {
				holding[h]++
			}
		}
		total += row.length
		rows[i] = row
	}
	mean := max(total/float64(max(len(rows), 1)), 1)
	words := make([]uint32, 0, len(r.ask.words))
	for h := range r.ask.words {
		words = append(words, h)
	}
	slices.Sort(words) // sums of floats depend on the order
	scores, best := make([]float64, len(rows)), 0.0
	for i, row := range rows {
		for _, h := range words {
			tf := float64(numberOf(row.text, h)) + row.extra[h]
			if tf == 0 {
				continue
			}
			idf := math.Log(1 + (float64(len(rows)-holding[h])+0.5)/(float64(holding[h])+0.5))
			scores[i] += r.ask.words[h] * idf * tf * 2.2 / (tf + 1.2*(0.4+0.6*row.length/mean))
		}
		for _, s := range r.files[i].Outline.Symbols {
			if r.ask.names[s.Name] && declared[s.Name] <= 2*definers {
				scores[i] += 4 / float64(declared[s.Name])
			}
		}
		best = max(best, scores[i]*r.weights[i])
	}
	if best == 0 {
		best = 1
	}
	for i := range scores {
		scores[i] = min(scores[i]/best, 2)
	}
	return scores
}

// named is over 0 for the files that paths name: 1 where a whole path is given,
// less where several files have the name.
func (r *ranking) named(paths []string) []float64 {
	score := make([]float64, len(r.files))
	byBase := map[string][]int{}
	for i, f := range r.files {
		byBase[path.Base(f.Path)] = append(byBase[path.Base(f.Path)], i)
	}
	for _, p := range paths {
		var hits []int
		for _, i := range byBase[path.Base(p)] {
			if at := r.files[i].Path; at == p || strings.HasSuffix(at, "/"+p) || strings.HasSuffix(p, "/"+at) {
				hits = append(hits, i)
			}
		}
		for _, i := range hits {
			share := 1.0
			if len(hits) > 1 && r.files[i].Path != p {
				share = r.weights[i] / float64(len(hits))
			}
			score[i] = max(score[i], share)
		}
	}
	return score
}

// edge leads from a file to one that declares what it refers to.
type edge struct {
	to     int32
	weight float64
}

// flow is personalised PageRank: a walk that begins at files by their share of
// start and follows references, and begins anew with a constant chance. The
// result is at most 1.
func (r *ranking) flow(start []float64) []float64 {
	n := len(r.files)
	sum := 0.0
	for _, s := range start {
		sum += s
	}
	rank := make([]float64, n)
	if sum == 0 {
		for i := range start {
			start[i] = r.weights[i]
			sum += r.weights[i]
		}
	}
	for i := range start {
		start[i] /= sum
	}
	edges := r.edges()
	copy(rank, start)
	for range rounds {
		next := make([]float64, n)
		lost := 0.0
		for i, out := range edges {
			if len(out) == 0 {
				lost += rank[i]
				continue
			}
			for _, e := range out {
				next[e.to] += damping * rank[i] * e.weight
			}
		}
		for i := range next {
			next[i] += (1 - damping + damping*lost) * start[i]
		}
		rank = next
	}
	best := slices.Max(append(rank, math.SmallestNonzeroFloat64))
	for i := range rank {
		rank[i] /= best
	}
	return rank
}

// edges returns, for each file, where its references and imports lead; the
// weights of one file add up to 1.
func (r *ranking) edges() [][]edge {
	type definition struct {
		file  int32
		local bool
	}
	defs := map[uint32][]definition{}
	for i, f := range r.files {
		for _, s := range f.Outline.Symbols {
			h := hash(s.Name)
			list := defs[h]
			if len(list) > definers || len(list) > 0 && list[len(list)-1].file == int32(i) {
				continue
			}
			defs[h] = append(list, definition{int32(i), s.Local})
		}
	}
	modules := r.modules()
	all := make([][]edge, len(r.files))
	to := make([]float64, len(r.files))
	for i, f := range r.files {
		var seen []int32
		add := func(target int32, weight float64) {
			if target == int32(i) {
				return
			}
			if to[target] == 0 {
				seen = append(seen, target)
			}
			to[target] += weight
		}
		lang := languageOf(f.Path)
		for _, c := range f.Outline.Refs {
			list := defs[c.Hash]
			if len(list) == 0 || len(list) > definers {
				continue
			}
			weight := math.Sqrt(float64(c.N)) / float64(len(list))
			for _, d := range list {
				other := r.files[d.file].Path
				if languageOf(other) != lang || d.local && path.Dir(other) != path.Dir(f.Path) {
					continue
				}
				add(d.file, weight*r.weights[d.file])
			}
		}
		for _, m := range f.Outline.Imports {
			if target, ok := modules.find(f.Path, m); ok {
				add(target, 2*r.weights[target])
			}
		}
		slices.Sort(seen)
		sum := 0.0
		for _, t := range seen {
			sum += to[t]
		}
		for _, t := range seen {
			all[i] = append(all[i], edge{t, to[t] / sum})
			to[t] = 0
		}
	}
	return all
}

// modules finds the file that an import of JavaScript or Python means.
type modules struct {
	paths map[string]int32 // without extension; a directory stands for its index file
	tails map[string]int32 // Python's last two parts, where they are unique
}

func (r *ranking) modules() modules {
	m := modules{map[string]int32{}, map[string]int32{}}
	for i, f := range r.files {
		lang := languageOf(f.Path)
		if lang != javascript && lang != python {
			continue
		}
		stem := strings.TrimSuffix(f.Path, path.Ext(f.Path))
		if base := path.Base(stem); base == "index" || base == "__init__" {
			stem = path.Dir(stem)
		}
		if _, ok := m.paths[stem]; !ok {
			m.paths[stem] = int32(i)
		}
		if lang == python {
			if _, twice := m.tails[tail(stem)]; twice {
				m.tails[tail(stem)] = -1
			} else {
				m.tails[tail(stem)] = int32(i)
			}
		}
	}
	return m
}

// tail is the last two parts of a path.
func tail(p string) string { return path.Join(path.Base(path.Dir(p)), path.Base(p)) }

func (m modules) find(from, name string) (int32, bool) {
	var at string
	switch lang := languageOf(from); {
	case lang == javascript && strings.HasPrefix(name, "."):
		at = path.Join(path.Dir(from), name)
		if i, ok := m.paths[at]; ok {
			return i, true
		}
		at = strings.TrimSuffix(at, path.Ext(at))
	case lang == python && strings.HasPrefix(name, "."):
		rest := strings.TrimLeft(name, ".")
		dir := from
		for range len(name) - len(rest) {
			dir = path.Dir(dir)
		}
		at = path.Join(dir, strings.ReplaceAll(rest, ".", "/"))
	case lang == python:
		at = strings.ReplaceAll(name, ".", "/")
		if i, ok := m.paths[at]; ok {
			return i, true
		}
		if i, ok := m.paths["src/"+at]; ok {
			return i, true
		}
		if i, ok := m.tails[tail(at)]; ok && i >= 0 && strings.Contains(at, "/") {
			return i, true
		}
		return 0, false
	default:
		return 0, false
	}
	i, ok := m.paths[at]
	return i, ok
}
