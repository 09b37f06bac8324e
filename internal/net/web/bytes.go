package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
)

// Content types of answers that are bytes. What was stored may have come from
// anywhere: no other type is ever said, so that no browser runs or shows it.
const (
	bytesType = "application/octet-stream"
	textType  = "text/plain; charset=utf-8"
)

// media are the content types of documents, by what they are.
var media = map[string]string{
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"pdf":  "application/pdf",
	"md":   "text/markdown; charset=utf-8",
	"html": "text/html; charset=utf-8",
}

// pagePolicy is what a browser lets a page do that was stored: nothing but show its text,
// its own looks and the pictures in it.
const pagePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"

// mostBytes is more than any answer has.
const mostBytes = 16 << 20

// bytes answers with the bytes of a field of the reply, whole or in the ranges that
// are asked for. The service gives them in parts, which are put together first: they
// are a few megabytes at most.
func (s *Server) bytes(w http.ResponseWriter, r *http.Request, one route, c caller) {
	q, err := question(r, one)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	data, last, err := s.gather(r, one, c, q)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	describeBytes(w.Header(), one, last, data)
	w.Header().Set("ETag", fmt.Sprintf("\"%x\"", sha256.Sum256(data))) // of what is sent, without secrets
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// describeBytes says what the bytes are, and what a browser is to do with them.
func describeBytes(h http.Header, one route, last proto.Message, data []byte) {
	kind := bytesType
	if utf8.Valid(data) {
		kind = textType
	}
	params := map[string]string{}
	if one.media != "" {
		kind = cmp.Or(media[textOf(last, one.media)], bytesType)
		h.Set("Content-Security-Policy", pagePolicy)
		if name := textOf(last, "name"); name != "" {
			params["filename"] = name
		}
	}
	h.Set("Content-Type", kind)
	how := "attachment"
	if one.page {
		how = "inline"
	}
	h.Set("Content-Disposition", cmp.Or(mime.FormatMediaType(how, params), how))
}

func textOf(m proto.Message, field string) string {
	if f := m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(field)); f != nil && f.Kind() == protoreflect.StringKind {
		return m.ProtoReflect().Get(f).String()
	}
	return ""
}

// gather asks for one part after another, of one version where there are several.
func (s *Server) gather(r *http.Request, one route, c caller, q proto.Message) ([]byte, proto.Message, error) {
	var data []byte
	version := q.ProtoReflect().Descriptor().Fields().ByName("v")
	offset := q.ProtoReflect().Descriptor().Fields().ByName("offset")
	for {
		q.ProtoReflect().Set(offset, protoreflect.ValueOfUint64(uint64(len(data))))
		body, err := proto.Marshal(q)
		if err != nil {
			return nil, nil, err
		}
		reply, err := Ask(r.Context(), s.config.Services, one.service, c.identity(one), "", body)
		if err != nil {
			return nil, nil, err
		}
		m := reply.ProtoReflect()
		part := m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(one.body))).Bytes()
		size := m.Get(m.Descriptor().Fields().ByName("size")).Uint()
		data = append(data, part...)
		if version != nil {
			q.ProtoReflect().Set(version, protoreflect.ValueOfString(textOf(reply, "v")))
		}
		switch {
		case uint64(len(data)) >= size:
			return data, reply, nil
		case len(part) == 0 || len(data) > mostBytes:
			return nil, nil, fault.New("host/unavailable", "the answer ends after %d of %d bytes", len(data), size)
		}
	}
}
