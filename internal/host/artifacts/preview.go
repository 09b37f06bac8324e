package artifacts

import (
	"context"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/craft/office"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// preview is a page of what a version says. It has no script, and loads nothing: also
// pictures stand in it.
func (s *Store) preview(ctx context.Context, v *loomv1.ArtifactVersion, file string, data []byte) ([]byte, error) {
	spec, err := s.spec(ctx, v, file, data)
	if err != nil {
		return nil, err
	}
	r, err := office.Make(spec, "html", office.Options{Image: func(name string) ([]byte, error) {
		picture, size, there, err := s.Repository.FileAt(ctx, v.Commit, path.Join(path.Dir(file), name), mostBytes)
		switch {
		case err != nil:
		case !there:
			err = fault.New("document/unknown", "there is no such picture").Got(name)
		case size > mostBytes:
			err = fault.New("document/limit", "the picture has more than %d MiB", mostBytes>>20).Got(name)
		}
		return picture, err
	}})
	if err != nil {
		return nil, err
	}
	return r.Data, nil
}

// spec is what a version was made of: the spec beside it, if it is the one, or the one
// that the file carries.
func (s *Store) spec(ctx context.Context, v *loomv1.ArtifactVersion, file string, data []byte) (proto.Message, error) {
	beside := document.FilesOf(strings.TrimSuffix(file, path.Ext(file)), v.Kind).Spec
	text, _, there, err := s.Repository.FileAt(ctx, v.Commit, beside, mostBytes)
	if err != nil {
		return nil, err
	}
	if m, err := document.Read(beside, text, ""); there && err == nil && document.KindOf(m).Spec && document.Hash(m) == v.SpecHash {
		return m, nil
	}
	if carried, err := office.Open(data); err == nil {
		if m, err := document.Read(file, carried, ""); err == nil && document.KindOf(m).Spec {
			return m, nil
		}
	}
	if v.Kind == "md" {
		return &loomv1.DocumentSpec{Version: "0.2", Title: v.File, Sections: []*loomv1.DocumentSection{{Id: "text", Heading: v.File, Body: string(data)}}}, nil
	}
	return nil, fault.New("document/foreign", "there is no preview: the spec of %s is not known", v.File).Want("read the file itself")
}
