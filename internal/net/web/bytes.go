package web

import (
	"bytes"
	"crypto/sha256"
	"fmt"
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
	data, err := s.gather(r, one, c, q)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	kind := bytesType
	if utf8.Valid(data) {
		kind = textType
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("ETag", fmt.Sprintf("\"%x\"", sha256.Sum256(data))) // of what is sent, without secrets
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// gather asks for one part after another.
func (s *Server) gather(r *http.Request, one route, c caller, q proto.Message) ([]byte, error) {
	var data []byte
	offset := q.ProtoReflect().Descriptor().Fields().ByName("offset")
	for {
		q.ProtoReflect().Set(offset, protoreflect.ValueOfUint64(uint64(len(data))))
		body, err := proto.Marshal(q)
		if err != nil {
			return nil, err
		}
		reply, err := Ask(r.Context(), s.config.Services, one.service, c.identity(one), "", body)
		if err != nil {
			return nil, err
		}
		m := reply.ProtoReflect()
		part := m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(one.body))).Bytes()
		size := m.Get(m.Descriptor().Fields().ByName("size")).Uint()
		data = append(data, part...)
		switch {
		case uint64(len(data)) >= size:
			return data, nil
		case len(part) == 0 || len(data) > mostBytes:
			return nil, fault.New("host/unavailable", "the answer ends after %d of %d bytes", len(data), size)
		}
	}
}
