package office

import (
	"fmt"
	"strings"
)

// layouts are those of the slides: their names, and their placeholders.
var layouts = []struct {
	name, kind string
	shapes     []holder
}{
	{"Title Slide", "title", []holder{{"ctrTitle", 0, area{slideEdge, 1905000, inner, 1600200}, 4000, "b"}, {"subTitle", 1, area{slideEdge, 3657600, inner, 1371600}, 2000, "t"}}},
	{"Title and Content", "obj", []holder{{"title", 0, area{slideEdge, 411480, inner, 838200}, 0, ""}, {"", 1, area{slideEdge, slideTop, inner, slideEnd - slideTop}, 0, ""}}},
	{"Section Header", "secHead", []holder{{"title", 0, area{slideEdge, 2286000, inner, 1371600}, 3600, "b"}, {"body", 1, area{slideEdge, 3733800, inner, 1219200}, 2000, "t"}}},
	{"Two Content", "twoObj", []holder{
		{"title", 0, area{slideEdge, 411480, inner, 838200}, 0, ""},
		{"", 1, area{slideEdge, slideTop, (inner - slideGap) / 2, slideEnd - slideTop}, 0, ""},
		{"", 2, area{slideEdge + (inner+slideGap)/2, slideTop, (inner - slideGap) / 2, slideEnd - slideTop}, 0, ""},
	}},
}

// flush has texts begin where tables, pictures and callouts do.
const flush = ` lIns="0" rIns="0"`

type holder struct {
	kind   string
	index  int
	place  area
	size   int
	anchor string
}

func (h holder) xml(id int) string {
	kind, index := "", ""
	if h.kind != "" {
		kind = ` type="` + h.kind + `"`
	}
	if h.index > 0 {
		index = fmt.Sprintf(` idx="%d"`, h.index)
	}
	anchor, list := flush, "<a:lstStyle/>"
	if h.anchor != "" {
		anchor += ` anchor="` + h.anchor + `"`
	}
	if h.size > 0 {
		list = fmt.Sprintf(`<a:lstStyle><a:lvl1pPr marL="0" indent="0"><a:buNone/><a:defRPr sz="%d"/></a:lvl1pPr></a:lstStyle>`, h.size)
	}
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Placeholder %d"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph%s%s/></p:nvPr></p:nvSpPr><p:spPr>%s</p:spPr><p:txBody><a:bodyPr%s><a:normAutofit/></a:bodyPr>%s<a:p><a:endParaRPr lang="en"/></a:p></p:txBody></p:sp>`, id, id, kind, index, place(h.place), anchor, list)
}

// small are footer and slide number, in the lower corners.
func small(id int, kind string, index int, a area, side, content string) string {
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="%s"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="%s" sz="quarter" idx="%d"/></p:nvPr></p:nvSpPr><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr lIns="0" rIns="0" anchor="ctr"/><a:lstStyle><a:lvl1pPr algn="%s"><a:defRPr sz="1100"><a:solidFill><a:srgbClr val="595959"/></a:solidFill></a:defRPr></a:lvl1pPr></a:lstStyle><a:p>%s<a:endParaRPr lang="en"/></a:p></p:txBody></p:sp>`, id, kind, kind, index, place(a), side, content)
}

func smalls() string {
	number := `<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:rPr lang="en"/><a:t>1</a:t></a:fld>`
	return small(80, "ftr", 11, area{slideEdge, 6356350, inner / 2, 365125}, "l", "") + small(81, "sldNum", 12, area{slideWide - slideEdge - 1219200, 6356350, 1219200, 365125}, "r", number)
}

// masters adds what the slides stand on: master, layouts, themes, the notes' master.
func (d *deck) masters() {
	for i, l := range layouts {
		var shapes strings.Builder
		for k, h := range l.shapes {
			shapes.WriteString(h.xml(2 + k))
		}
		if i != 0 {
			shapes.WriteString(smalls())
		}
		var rels relations
		rels.add("slideMaster", "../slideMasters/slideMaster1.xml", false)
		d.p.add(fmt.Sprintf("ppt/slideLayouts/_rels/slideLayout%d.xml.rels", i+1), rels.xml())
		d.p.add(fmt.Sprintf("ppt/slideLayouts/slideLayout%d.xml", i+1), xmlHead+`<p:sldLayout `+slideSpace+` type="`+l.kind+`" preserve="1"><p:cSld name="`+l.name+`"><p:spTree>`+groupHead+shapes.String()+`</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>`)
	}
	var rels relations
	list := ""
	for i := range layouts {
		id := rels.add("slideLayout", fmt.Sprintf("../slideLayouts/slideLayout%d.xml", i+1), false)
		list += fmt.Sprintf(`<p:sldLayoutId id="%d" r:id="%s"/>`, 2147483649+i, id)
	}
	rels.add("theme", "../theme/theme1.xml", false)
	d.p.add("ppt/slideMasters/_rels/slideMaster1.xml.rels", rels.xml())
	title, body := layouts[1].shapes[0], layouts[1].shapes[1]
	body.kind = "body"
	bar := fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="70" name="Bar"/><p:cNvSpPr/><p:nvPr userDrawn="1"/></p:nvSpPr><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:schemeClr val="accent1"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:endParaRPr lang="en"/></a:p></p:txBody></p:sp>`, place(area{0, 0, slideWide, 137160}))
	levels := ""
	for i := range 5 {
		mark := []string{"•", "–"}[i%2]
		levels += fmt.Sprintf(`<a:lvl%dpPr marL="%d" indent="-285750" algn="l"><a:spcBef><a:spcPts val="600"/></a:spcBef><a:buFont typeface="Arial"/><a:buChar char="%s"/><a:defRPr sz="%d"><a:solidFill><a:schemeClr val="tx1"/></a:solidFill><a:latin typeface="+mn-lt"/></a:defRPr></a:lvl%dpPr>`, i+1, 285750+i*342900, mark, 2000-i*200, i+1)
	}
	d.p.add("ppt/slideMasters/slideMaster1.xml", xmlHead+`<p:sldMaster `+slideSpace+`><p:cSld><p:bg><p:bgRef idx="1001"><a:schemeClr val="bg1"/></p:bgRef></p:bg><p:spTree>`+groupHead+bar+title.xml(2)+body.xml(3)+smalls()+`</p:spTree></p:cSld>`+
		`<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/><p:sldLayoutIdLst>`+list+`</p:sldLayoutIdLst>`+
		`<p:txStyles><p:titleStyle><a:lvl1pPr algn="l"><a:spcBef><a:spcPct val="0"/></a:spcBef><a:buNone/><a:defRPr sz="3000" b="1"><a:solidFill><a:schemeClr val="tx2"/></a:solidFill><a:latin typeface="+mj-lt"/></a:defRPr></a:lvl1pPr></p:titleStyle><p:bodyStyle>`+levels+`</p:bodyStyle><p:otherStyle><a:lvl1pPr><a:defRPr sz="1800"><a:latin typeface="+mn-lt"/></a:defRPr></a:lvl1pPr></p:otherStyle></p:txStyles></p:sldMaster>`)
	var notes relations
	notes.add("theme", "../theme/theme2.xml", false)
	d.p.add("ppt/notesMasters/_rels/notesMaster1.xml.rels", notes.xml())
	d.p.add("ppt/notesMasters/notesMaster1.xml", xmlHead+`<p:notesMaster `+slideSpace+`><p:cSld><p:bg><p:bgRef idx="1001"><a:schemeClr val="bg1"/></p:bgRef></p:bg><p:spTree>`+groupHead+
		`<p:sp><p:nvSpPr><p:cNvPr id="2" name="Slide"/><p:cNvSpPr><a:spLocks noGrp="1" noRot="1" noChangeAspect="1"/></p:cNvSpPr><p:nvPr><p:ph type="sldImg" idx="2"/></p:nvPr></p:nvSpPr><p:spPr>`+place(area{685800, 1143000, 5486400, 3086100})+`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:sp>`+
		`<p:sp><p:nvSpPr><p:cNvPr id="3" name="Notes"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="body" sz="quarter" idx="1"/></p:nvPr></p:nvSpPr><p:spPr>`+place(area{685800, 4400550, 5486400, 3600450})+`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:endParaRPr lang="en"/></a:p></p:txBody></p:sp>`+
		`</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/></p:notesMaster>`)
	d.p.add("ppt/theme/theme1.xml", d.theme())
	d.p.add("ppt/theme/theme2.xml", d.theme())
}

func (d *deck) theme() string {
	s := d.style
	color := func(name, value string) string {
		return `<a:` + name + `><a:srgbClr val="` + value + `"/></a:` + name + `>`
	}
	fill := `<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>`
	line := `<a:ln w="9525"><a:solidFill><a:schemeClr val="phClr"/></a:solidFill></a:ln>`
	effect := `<a:effectStyle><a:effectLst/></a:effectStyle>`
	font := func(kind, name string) string {
		return `<a:` + kind + `><a:latin typeface="` + esc(name) + `"/><a:ea typeface=""/><a:cs typeface=""/></a:` + kind + `>`
	}
	return xmlHead + `<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="Loom"><a:themeElements><a:clrScheme name="Loom">` +
		color("dk1", "222222") + color("lt1", "FFFFFF") + color("dk2", s.primary) + color("lt2", "F2F4F7") + color("accent1", s.primary) + color("accent2", s.accent) +
		color("accent3", "2E7D4F") + color("accent4", "B26A00") + color("accent5", "5B3FA0") + color("accent6", "5B6B7B") + color("hlink", s.accent) + color("folHlink", "5B3FA0") +
		`</a:clrScheme><a:fontScheme name="Loom">` + font("majorFont", s.headingFont) + font("minorFont", s.bodyFont) + `</a:fontScheme><a:fmtScheme name="Loom"><a:fillStyleLst>` + fill + fill + fill +
		`</a:fillStyleLst><a:lnStyleLst>` + line + line + line + `</a:lnStyleLst><a:effectStyleLst>` + effect + effect + effect + `</a:effectStyleLst><a:bgFillStyleLst>` + fill + fill + fill +
		`</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>`
}
