package vault

import (
	"encoding/json"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/streamfile"
)

// mostPending is how many bytes of objects whose description has not come yet
// are kept: an upload that was cut off never gets one.
const mostPending = 256 << 20

// objects reads the objects of an object store's stream.
type objects struct {
	bucket string
	// visit is called for each description, newest last; data is nil when the
	// object was deleted.
	visit   func(name string, data []byte) error
	pending map[string][]byte // by the id that chunks have in common
	order   []string
	bytes   int
}

// readObjects passes every object of a bucket to visit, as it is put, put again
// and deleted. It keeps nothing of data.
func readObjects(s *streamfile.Stream, bucket string, visit func(name string, data []byte) error) (streamfile.Scan, error) {
	o := &objects{bucket: bucket, visit: visit, pending: map[string][]byte{}}
	return s.Scan(o.record)
}

func (o *objects) record(r streamfile.Record) error {
	prefix := "$O." + o.bucket
	if id, ok := strings.CutPrefix(r.Subject, prefix+".C."); ok {
		o.chunk(id, r.Data)
		return nil
	}
	if !strings.HasPrefix(r.Subject, prefix+".M.") {
		return nil
	}
	var about struct {
		Name    string `json:"name"`
		ID      string `json:"nuid"`
		Deleted bool   `json:"deleted"`
	}
	if err := json.Unmarshal(r.Data, &about); err != nil {
		return fault.New("data/damaged", "sequence %d: the description of an object of %s cannot be read", r.Sequence, o.bucket).Because(err)
	}
	data := o.take(about.ID)
	if about.Deleted {
		return o.visit(about.Name, nil)
	}
	return o.visit(about.Name, data)
}

// chunk keeps a piece of an object until its description comes.
func (o *objects) chunk(id string, data []byte) {
	if _, ok := o.pending[id]; !ok {
		o.order = append(o.order, id)
		o.pending[id] = []byte{}
	}
	o.pending[id] = append(o.pending[id], data...)
	for o.bytes += len(data); o.bytes > mostPending && len(o.order) > 1; {
		o.take(o.order[0])
	}
}

// take returns what is kept of an object, and forgets it.
func (o *objects) take(id string) []byte {
	data, ok := o.pending[id]
	if !ok {
		return []byte{}
	}
	o.bytes -= len(data)
	delete(o.pending, id)
	for i, other := range o.order {
		if other == id {
			o.order = append(o.order[:i], o.order[i+1:]...)
			break
		}
	}
	return data
}
