package tool

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // so that its size is known
	_ "image/jpeg" // so that its size is known
	_ "image/png"  // so that its size is known

	_ "golang.org/x/image/webp" // so that its size is known

	"github.com/loomrun/loom/internal/base/fault"
)

// Bounds of a picture that is shown. Anthropic's, which are the tightest
// (docs.anthropic.com, vision): 5 MB in base64, and 8,000 pixels a side.
const (
	maxPicture = 15 << 18 // bytes of the file
	maxSide    = 8000     // pixels
)

// pictures are the types that models take.
var pictures = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// readPicture returns a file that is a picture by its first bytes.
func (s *Set) readPicture(p place, media string) (Result, error) {
	data, _, err := p.content(maxPicture)
	if err != nil {
		return Result{}, err
	}
	r, err := pictured(p.path, media, data)
	if err != nil {
		return Result{}, fault.From(err).At("path").Got(p.path)
	}
	return r, nil
}

// pictured is the result of looking at a picture.
func pictured(name, media string, data []byte) (Result, error) {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Result{}, fault.New("tool/failed", "it begins like %s, and its size cannot be read", media)
	}
	text := fmt.Sprintf("%s: a picture, %s, %d x %d pixels, %d bytes", name, media, size.Width, size.Height, len(data))
	if size.Width < 1 || size.Height < 1 || max(size.Width, size.Height) > maxSide {
		return Result{}, fault.New("tool/too-large", "%s; one of at most %d pixels a side is shown", text, maxSide)
	}
	if len(data) > maxPicture {
		return Result{}, fault.New("tool/too-large", "%s; one of at most %d bytes is shown", text, maxPicture)
	}
	r := done(text+"\n", "%s", text)
	r.Picture = &Picture{MediaType: media, Width: size.Width, Height: size.Height, Data: data}
	return r, nil
}
