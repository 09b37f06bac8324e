package simulation

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// segments are where ended work is; they outlive every restart.
type segments struct{ all map[string]project.Segment }

func (s *segments) put(made project.Segment) {
	if s.all == nil {
		s.all = map[string]project.Segment{}
	}
	s.all[made.Name] = made
}

func (s *segments) Index(name string) (*loomv1.SegmentIndex, error) {
	index := &loomv1.SegmentIndex{}
	if _, ok := s.all[name]; !ok {
		return nil, fmt.Errorf("there is no segment %q", name)
	}
	return index, proto.Unmarshal(s.all[name].Index, index)
}

func (s *segments) Records(name string) ([]byte, error) {
	if _, ok := s.all[name]; !ok {
		return nil, fmt.Errorf("there is no segment %q", name)
	}
	return s.all[name].Records, nil
}
