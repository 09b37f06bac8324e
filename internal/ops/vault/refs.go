package vault

import "github.com/loomrun/loom/internal/store/streamfile"

// records passes the messages of a stream that are still there to visit, if it
// is not nil, and returns the first damage.
func (s *Store) records(name string, visit func(streamfile.Record) error) error {
	stream, err := s.stream(name)
	if err != nil {
		return err
	}
	found, err := stream.Scan(func(streamfile.Record) error { return nil })
	if err != nil || visit == nil {
		return firstOf(err, found.Err(), stream.Consumers())
	}
	_, err = stream.Scan(func(r streamfile.Record) error {
		if found.Deleted[r.Sequence] {
			return nil
		}
		return visit(r)
	})
	return firstOf(err, found.Err())
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
