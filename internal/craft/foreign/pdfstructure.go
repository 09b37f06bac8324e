package foreign

import "strings"

// pdfStructure makes blocks of the structure of a pdf.
type pdfStructure struct {
	file   *pdfFile
	roles  pdfDict
	pages  map[pdfRef]int
	runs   map[[2]int][]pdfRun // by page and mark
	seen   map[pdfRef]bool
	blocks []Block
	taken  int // bytes of text that were met
	open   Block
	text   strings.Builder  // of the open block
	cell   *strings.Builder // where texts go in place of it; nil for none
	held   [maxColumns]int  // in how many rows that follow a cell above takes each column
	last   pdfRun
	x      float64   // where the open block begins
	marks  []float64 // where the items of the list at hand begin, by level
}

// flush ends the block that is open.
func (s *pdfStructure) flush() {
	b := s.open
	b.Text = oneLine(s.text.String())
	s.text.Reset()
	if s.open = (Block{Kind: "paragraph"}); b.Text == "" {
		return
	}
	if b.Kind == "item" {
		s.marks, b.Level = itemLevel(s.marks, s.x)
		if mark, rest, found := strings.Cut(b.Text, " "); found && bulletMark(mark) {
			b.Text = rest
		}
	} else {
		s.marks = nil
	}
	s.blocks = append(s.blocks, b)
}

// begin ends the open block, and opens another.
func (s *pdfStructure) begin(b Block) {
	if s.cell == nil {
		s.flush()
		s.open = b
	}
}

// say adds the text of marked content to what is open.
func (s *pdfStructure) say(page, mark int) {
	runs := s.runs[[2]int{page, mark}]
	delete(s.runs, [2]int{page, mark}) // once
	to := &s.text
	if s.cell != nil {
		to = s.cell
	}
	if len(runs) > 0 && s.cell == nil && s.text.Len() == 0 {
		s.x = runs[0].x
	}
	text := flowing(runs)
	for _, r := range runs {
		s.taken += len(r.text)
	}
	if len(runs) == 0 {
		return
	}
	if to.Len() > 0 && gapBetween(s.last, runs[0]) != "" {
		to.WriteString(" ")
	}
	s.last = runs[len(runs)-1]
	to.WriteString(text)
}

// below walks through what an element holds: elements, and marks of pages.
func (s *pdfStructure) below(v any, page, depth int) {
	if depth > MaxDepth || !s.file.work.spend(1) {
		return
	}
	if ref, ok := v.(pdfRef); ok {
		if s.seen[ref] {
			return
		}
		s.seen[ref] = true
	}
	switch v := s.file.get(v).(type) {
	case float64:
		s.say(page, int(v))
	case pdfArray:
		for _, k := range v {
			s.below(k, page, depth+1)
		}
	case pdfDict:
		if ref, ok := v["Pg"].(pdfRef); ok {
			if n, known := s.pages[ref]; known {
				page = n
			}
		}
		if n, ok := v["MCID"].(float64); ok {
			s.say(page, int(n))
			return
		}
		s.element(v, page, depth)
	}
}

// element takes an element by what it is.
func (s *pdfStructure) element(v pdfDict, page, depth int) {
	kind := s.file.name(v["S"])
	for range 5 { // names of a program's own, which may go round in a ring
		role := s.file.name(s.roles[kind])
		if role == "" || role == kind || kind == "Title" {
			break
		}
		kind = role
	}
	inside := func() { s.below(v["K"], page, depth+1) }
	switch kind {
	case "H", "H1", "H2", "H3", "H4", "H5", "H6", "Title":
		level := 1
		if len(kind) == 2 {
			level = int(kind[1] - '0')
		}
		s.begin(Block{Kind: "heading", Level: level})
		inside()
		s.begin(Block{Kind: "paragraph"})
	case "L", "TOC":
		inside()
		s.begin(Block{Kind: "paragraph"})
	case "LI", "TOCI":
		s.begin(Block{Kind: "item"})
		inside()
	case "P", "Caption", "BlockQuote", "Code":
		if s.open.Kind == "paragraph" || s.text.Len() > 0 {
			s.begin(Block{Kind: "paragraph"})
		}
		inside()
	case "Note", "FENote":
		s.begin(Block{Kind: "note"})
		inside()
		s.begin(Block{Kind: "paragraph"})
	case "Figure", "Formula", "Form":
		s.begin(Block{Kind: "paragraph"})
		var drawn strings.Builder // such as the numbers at the axis of a chart
		cell := s.cell
		s.cell = &drawn
		inside()
		if s.cell = cell; cell == nil {
			alt, _ := s.file.get(v["Alt"]).(pdfString)
			s.text.WriteString(pdfText(alt))
		}
	case "Table":
		if s.cell != nil { // in another table
			inside()
			return
		}
		s.begin(Block{Kind: "paragraph"})
		s.held = [maxColumns]int{}
		if rows := s.rows(v["K"], page, depth+1, nil); len(rows) > 0 {
			s.blocks = append(s.blocks, Block{Kind: "table", Rows: rows})
		}
	default:
		inside()
	}
}

// rows reads the rows of a table, also those in its head and body.
func (s *pdfStructure) rows(v any, page, depth int, rows [][]string) [][]string {
	if depth > MaxDepth || !s.file.work.spend(1) {
		return rows
	}
	for _, k := range s.file.list(v) {
		of := s.file.dict(k)
		if ref, ok := of["Pg"].(pdfRef); ok {
			if n, known := s.pages[ref]; known {
				page = n
			}
		}
		switch s.file.name(of["S"]) {
		case "TR":
			if len(rows) < maxRows {
				rows = append(rows, s.row(of, page, depth))
			}
		default:
			rows = s.rows(of["K"], page, depth+1, rows)
		}
	}
	return rows
}

// row reads a row. What a cell takes of further rows and columns is empty there.
func (s *pdfStructure) row(of pdfDict, page, depth int) (row []string) {
	free := func() {
		for len(row) < maxColumns && s.held[len(row)] > 0 {
			s.held[len(row)]--
			row = append(row, "")
		}
	}
	for _, c := range s.file.list(of["K"]) {
		var b strings.Builder
		s.cell = &b
		s.below(c, page, depth+1)
		s.cell = nil
		rows, columns := s.span(s.file.dict(c))
		free()
		for i := 0; i < columns && len(row) < maxColumns; i++ {
			s.held[len(row)] = rows - 1
			text := ""
			if i == 0 {
				text = oneLine(b.String())
			}
			row = append(row, text)
		}
	}
	free()
	return row
}

// span is how many rows and columns a cell takes.
func (s *pdfStructure) span(cell pdfDict) (rows, columns int) {
	rows, columns = 1, 1
	for _, a := range s.file.list(cell["A"]) {
		about := s.file.dict(a)
		rows = max(rows, int(s.file.number(about["RowSpan"], 1)))
		columns = max(columns, int(s.file.number(about["ColSpan"], 1)))
	}
	return min(rows, maxRows), columns
}
