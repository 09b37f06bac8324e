package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// problem writes a refusal as RFC 9457 has it: type, title and status, and the
// error of the contract beside them. What went wrong inside is logged, and not
// told.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	if s.config.Clean != nil {
		err = s.config.Clean(err)
	}
	f := fault.From(err)
	if f.Code == "internal/error" {
		if r.Context().Err() == nil { // else whoever asked has left, which ended it
			s.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		f = fault.New("internal/error", "something went wrong inside; the host's log says what")
	}
	status := statusOf(f.Code)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="loom"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	body := map[string]json.RawMessage{}
	_ = json.Unmarshal(marshal(f.Proto()), &body) // it is what was just written
	body["type"], _ = json.Marshal("tag:loom,2026:" + f.Code)
	body["title"], _ = json.Marshal(http.StatusText(status))
	body["status"], _ = json.Marshal(status)
	body["detail"], _ = json.Marshal(f.Proto().Message)
	text, _ := json.Marshal(body)
	_, _ = w.Write(append(text, '\n'))
}

// statuses are those of codes that say more than their kind does.
var statuses = map[string]int{
	"token/unknown":      http.StatusUnauthorized,
	"token/file":         http.StatusServiceUnavailable,
	"session/unknown":    http.StatusUnauthorized,
	"session/file":       http.StatusServiceUnavailable,
	"graph/unknown-node": http.StatusNotFound,
	"request/method":     http.StatusMethodNotAllowed,
	"request/host":       http.StatusMisdirectedRequest,
	"request/too-many":   http.StatusTooManyRequests,
	"request/too-large":  http.StatusRequestEntityTooLarge,
	"request/media-type": http.StatusUnsupportedMediaType,
	"position/before":    http.StatusGone,
	"position/beyond":    http.StatusConflict,
	"position/elsewhere": http.StatusConflict,
}

// statusOf is the HTTP status of a code.
func statusOf(code string) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	if strings.HasSuffix(code, "/unknown") {
		return http.StatusNotFound
	}
	switch fault.Status(fault.FromProto(&loomv1.Error{Code: code})) {
	case fault.Usage, fault.Invalid:
		return http.StatusBadRequest
	case fault.Refused:
		return http.StatusForbidden
	case fault.Conflict:
		return http.StatusConflict
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Limit:
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// marshal writes a message as the command line does: canonical JSON, with the
// fields' own names and no blanks.
func marshal(m proto.Message) []byte {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return []byte("{}")
	}
	compact, err := json.Marshal(json.RawMessage(text)) // HTML's own characters are escaped, too
	if err != nil {
		return []byte("{}")
	}
	return compact
}
