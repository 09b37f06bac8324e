package model

import (
	"crypto/sha256"
	"encoding/hex"
)

// Picture is an image that stands beside the text of a tool message.
type Picture struct {
	// MediaType is image/png, image/jpeg, image/gif or image/webp.
	MediaType string `json:"media_type"`
	// Width and Height are pixels.
	Width  int `json:"width"`
	Height int `json:"height"`
	// Data is the file.
	Data []byte `json:"-"`
	// SHA256 is that of Data in lower-case hex; it stands for Data in a digest.
	SHA256 string `json:"sha256"`
}

// NewPicture returns the picture that a file is.
func NewPicture(mediaType string, width, height int, data []byte) *Picture {
	sum := sha256.Sum256(data)
	return &Picture{MediaType: mediaType, Width: width, Height: height, Data: data, SHA256: hex.EncodeToString(sum[:])}
}

// Sighted is a provider that knows whether its model takes pictures.
type Sighted interface {
	// TakesPictures reports whether a tool message may have a picture.
	TakesPictures() bool
}

// TakesPictures reports whether p is known to take pictures.
func TakesPictures(p Provider) bool {
	s, ok := p.(Sighted)
	return ok && s.TakesPictures()
}

// TakesPictures reports whether all in the chain do: whoever answers must be able
// to read it all.
func (c chain) TakesPictures() bool {
	for _, p := range c {
		if !TakesPictures(p) {
			return false
		}
	}
	return true
}
