package office

import (
	"cmp"
	"image/color"
	"strings"

	"github.com/loomrun/loom/internal/craft/chart"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// style is how everything looks, with nothing left open.
type style struct {
	headingFont, bodyFont string
	primary, accent       string // RRGGBB
	size                  float64
	letter                bool
	numbers, contents     bool
	header, footer        string
	lang                  string
	labels                labels
}

// styleOf takes the spec's styles before those of the options, and those before Loom's.
func (w *work) styleOf(own *loomv1.DocumentStyles, meta *loomv1.SpecMetadata) style {
	base := w.Style
	s := style{
		headingFont: cmp.Or(own.GetHeadingFont(), base.GetHeadingFont(), "Calibri"),
		bodyFont:    cmp.Or(own.GetBodyFont(), base.GetBodyFont(), "Calibri"),
		primary:     strings.TrimPrefix(cmp.Or(own.GetPrimaryColor(), base.GetPrimaryColor(), "#1F3864"), "#"),
		accent:      strings.TrimPrefix(cmp.Or(own.GetAccentColor(), base.GetAccentColor(), "#2F5597"), "#"),
		size:        cmp.Or(own.GetBodySize(), base.GetBodySize(), 11),
		letter:      cmp.Or(own.GetPageSize(), base.GetPageSize(), "a4") == "letter",
		numbers:     own.GetNumberHeadings() || base.GetNumberHeadings(),
		contents:    own.GetTableOfContents() || base.GetTableOfContents(),
		header:      cmp.Or(own.GetHeader(), base.GetHeader()),
		footer:      cmp.Or(own.GetFooter(), base.GetFooter()),
		lang:        cmp.Or(meta.GetLanguage(), "en"),
	}
	s.primary, s.accent = strings.ToUpper(s.primary), strings.ToUpper(s.accent)
	first, _, _ := strings.Cut(strings.ToLower(s.lang), "-")
	s.labels = words["en"]
	if l, ok := words[first]; ok {
		s.labels = l
	}
	return s
}

// labels are the words that a file adds to those of the spec.
type labels struct {
	table, figure, contents, page, of, sources, terms, accessed, total string
	callouts                                                           map[string]string
}

var words = map[string]labels{
	"en": {
		"Table", "Figure", "Contents", "Page", "of", "Sources", "Terms", "accessed", "Total",
		map[string]string{"note": "Note", "tip": "Tip", "info": "Information", "warning": "Warning", "risk": "Risk", "decision": "Decision"},
	},
	"de": {
		"Tabelle", "Abbildung", "Inhalt", "Seite", "von", "Quellen", "Bedingungen", "abgerufen", "Summe",
		map[string]string{"note": "Hinweis", "tip": "Tipp", "info": "Information", "warning": "Warnung", "risk": "Risiko", "decision": "Entscheidung"},
	},
	"fr": {
		"Tableau", "Figure", "Sommaire", "Page", "sur", "Sources", "Conditions", "consulté le", "Total",
		map[string]string{"note": "Remarque", "tip": "Conseil", "info": "Information", "warning": "Attention", "risk": "Risque", "decision": "Décision"},
	},
	"es": {
		"Tabla", "Figura", "Contenido", "Página", "de", "Fuentes", "Condiciones", "consultado el", "Total",
		map[string]string{"note": "Nota", "tip": "Consejo", "info": "Información", "warning": "Advertencia", "risk": "Riesgo", "decision": "Decisión"},
	},
}

// calloutColors are border and ground of a callout, by kind.
var calloutColors = map[string][2]string{
	"note": {"5B6B7B", "F2F4F7"}, "tip": {"2E7D4F", "EDF6F0"}, "info": {"2F5597", "EEF3FA"},
	"warning": {"B26A00", "FDF4E3"}, "risk": {"B3261E", "FCEEEE"}, "decision": {"5B3FA0", "F3F0FA"},
}

// seriesColor is the colour of a chart's series.
func (s style) seriesColor(i int) string {
	list := []string{s.primary, s.accent, "2E7D4F", "B26A00", "5B3FA0", "5B6B7B", "0072B2", "B3261E"}
	return list[i%len(list)]
}

// seriesColors are those of a chart that is drawn as a picture.
func (s style) seriesColors() (list []color.RGBA) {
	for i := range chart.MaxSeries {
		r, g, b := rgb(s.seriesColor(i))
		list = append(list, color.RGBA{uint8(r), uint8(g), uint8(b), 255})
	}
	return list
}
