package tool_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// A picture is read as one, by what it is and not by its name.
func TestREAL05_FileReadShowsPictures(t *testing.T) {
	file := func(encode func(*bytes.Buffer, image.Image) error, w, h int) string {
		var b bytes.Buffer
		if err := encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White, color.Black})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	asPNG := func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }
	asJPEG := func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }
	asGIF := func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }
	files := map[string]string{
		"a.png": file(asPNG, 40, 30), "b.dat": file(asJPEG, 8, 9), "c": file(asGIF, 3, 2),
		"wide.png": file(asPNG, 8001, 1), "torn.png": file(asPNG, 40, 30)[:20], "large.png": file(asPNG, 4, 4) + strings.Repeat("x", 15<<18),
		"text.png": "no picture\n", "other.bin": "\x00\x01\x02",
	}
	s, _ := workspace(t, files)
	for name, want := range map[string]string{
		"a.png": "a.png: a picture, image/png, 40 x 30 pixels, ", "b.dat": "b.dat: a picture, image/jpeg, 8 x 9 pixels, ", "c": "c: a picture, image/gif, 3 x 2 pixels, ",
		"wide.png": "one of at most 8000 pixels a side is shown", "torn.png": "its size cannot be read", "large.png": "the file is larger than 3932160 bytes",
		"text.png": "no picture", "other.bin": "the file is not text",
	} {
		r := do(t, s, "file_read", args{"path": name})
		shown := r.Picture != nil
		if !strings.Contains(r.Output, want) || shown != strings.Contains(want, "a picture, image/") {
			t.Errorf("%s: %q, shown %t; want %q", name, r.Output, shown, want)
		}
		if shown && string(r.Picture.Data) != files[name] {
			t.Errorf("%s: %d bytes are shown", name, len(r.Picture.Data))
		}
	}
}
