package feed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/source/feed"
	"github.com/loomrun/loom/internal/base/fault"
)

func TestTOOL07_Feeds(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"RSS 2.0": {
			`<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News &amp; more</title><link>https://a.test/</link>
			<item><title>One</title><link>https://a.test/1</link><guid>g1</guid><dc:creator>Ann</dc:creator><pubDate>Tue, 02 Jan 2024 03:04:05 +0100</pubDate><description>&lt;p&gt;It &lt;b&gt;rose&lt;/b&gt;.&lt;/p&gt;</description></item></channel></rss>`,
			"{News & more [{g1 One https://a.test/1 It rose . [Ann] 2024-01-02T02:04:05Z}]}",
		},
		"RSS 1.0": {
			`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel><item><title>One</title><link>https://a.test/1</link></item></rdf:RDF>`,
			"{Old [{ One https://a.test/1  [] }]}",
		},
		"Atom": {
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><id>urn:1</id><title type="html">O&lt;i&gt;ne&lt;/i&gt;</title>
			<link rel="self" href="https://a.test/self"/><link rel="alternate" href="https://a.test/1"/><author><name>Ann</name></author><updated>2024-01-02T03:04:05Z</updated><summary>Short.</summary></entry></feed>`,
			"{News [{urn:1 O ne https://a.test/1 Short. [Ann] 2024-01-02T03:04:05Z}]}",
		},
		"Atom without markup": {
			`<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">a &lt;b&gt; c</title><entry><id>urn:1?a=1&amp;copy=2</id><title>if $a&lt;b$</title><link href="https://a.test/?a=1&amp;copy=2"/>
			<summary>for all $a&lt;b$ we prove &amp;amp; more</summary></entry><entry><title type="xhtml"><div>On <b>looms</b> &lt;x&gt;</div></title><content type="html">&lt;p&gt;a &amp;amp;lt; b</content></entry></feed>`,
			"{a <b> c [{urn:1?a=1&copy=2 if $a<b$ https://a.test/?a=1&copy=2 for all $a<b$ we prove &amp; more [] } { On looms <x>  a &lt; b [] }]}",
		},
		"RSS unescaped once": {
			"<rss><channel><item><title>AT&amp;amp;T</title><description>write &amp;amp;lt;b></description></item></channel></rss>",
			"{ [{ AT&T  write &lt;b> [] }]}",
		},
		"HTML":     {"<html><body><p>hello</p></body></html>", "source/refused"},
		"broken":   {"<rss><channel>", "source/refused"},
		"deep":     {"<rss>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + "</rss>", "source/refused"},
		"entities": {`<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><channel><title>&b;</title></channel></rss>`, "source/refused"},
	} {
		f, err := feed.Read([]byte(tt.body))
		got := fault.Code(err)
		if err == nil {
			got = fmt.Sprint(*f)
		}
		if got != tt.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, tt.want)
		}
	}
}

// A zone is one of RFC 822 wherever this runs; another abbreviation may be anything.
func TestTOOL07_FeedDates(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	time.Local = time.FixedZone("CET", 3600)
	for date, want := range map[string]string{
		"Fri, 27 Nov 2026 20:00:00 EST":   "2026-11-28T01:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 EDT":   "2026-11-28T00:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 CST":   "2026-11-28T02:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 CDT":   "2026-11-28T01:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 MST":   "2026-11-28T03:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 MDT":   "2026-11-28T02:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 PST":   "2026-11-28T04:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 PDT":   "2026-11-28T03:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 GMT":   "2026-11-27T20:00:00Z",
		"Fri, 7 Aug 2026 20:00:00 UT":     "2026-08-07T20:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 UTC":   "2026-11-27T20:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 Z":     "2026-11-27T20:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 -0500": "2026-11-28T01:00:00Z",
		"2026-11-27T20:00:00-05:00":       "2026-11-28T01:00:00Z",
		"2026-11-27":                      "2026-11-27T00:00:00Z",
		"Fri, 27 Nov 2026 20:00:00 CET":   "Fri, 27 Nov 2026 20:00:00 CET",
		"Fri, 27 Nov 2026 20:00:00 IST":   "Fri, 27 Nov 2026 20:00:00 IST",
		"soon":                            "soon",
	} {
		f, err := feed.Read([]byte("<rss><channel><item><pubDate>" + date + "</pubDate></item></channel></rss>"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Entries[0].Published; got != want {
			t.Errorf("%s is %s, want %s", date, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<rss><channel><title>a</title><item><title>b</title></item></channel></rss>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := feed.Read(body)
		if err != nil && fault.Code(err) != "source/refused" || err == nil && len(got.Entries) > feed.MaxEntries {
			t.Fatal(err)
		}
	})
}
