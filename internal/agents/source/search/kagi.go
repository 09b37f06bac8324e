package search

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/loomrun/loom/internal/agents/source/fetch"
)

// Kagi asks Kagi's search service with a key.
func Kagi(key string, connect Connect) *Engine {
	return &Engine{
		name: "Kagi",
		client: client(fetch.Config{
			Hosts:  []string{"kagi.com"},
			Header: http.Header{"Authorization": {"Bot " + key}, "Accept": {"application/json"}},
		}, time.Second, connect),
		ask: func(question string, count int) string {
			return "https://kagi.com/api/v0/search?" + url.Values{"q": {question}, "limit": {strconv.Itoa(count)}}.Encode()
		},
		read: readKagi,
	}
}

func readKagi(body []byte) (hits []Hit, err error) {
	var answer struct {
		Data []struct {
			Kind    int    `json:"t"` // 0 for a page, 1 for other questions
			Title   string `json:"title"`
			URL     string `json:"url"`
			Snippet string `json:"snippet"`
		} `json:"data"`
	}
	err = json.Unmarshal(body, &answer)
	for _, r := range answer.Data {
		if r.Kind == 0 {
			hits = append(hits, Hit{r.Title, r.URL, r.Snippet})
		}
	}
	return hits, err
}
