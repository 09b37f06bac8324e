package scripted

import "github.com/loomrun/loom/internal/model"

// Demo is a small debugging policy.
func Demo(r *model.Request) (*model.Response, error) {
	return &model.Response{Text: "nothing yet", Stop: model.StopEnd}, nil
}
