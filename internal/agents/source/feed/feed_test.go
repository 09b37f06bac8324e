package feed_test

import (
	"fmt"
	"strings"
	"testing"

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

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<rss><channel><title>a</title><item><title>b</title></item></channel></rss>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := feed.Read(body)
		if err != nil && fault.Code(err) != "source/refused" || err == nil && len(got.Entries) > feed.MaxEntries {
			t.Fatal(err)
		}
	})
}
