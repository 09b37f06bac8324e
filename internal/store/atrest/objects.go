package atrest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/streamfile"
)

// objects finds the objects of an object store in its stream.
type objects struct {
	files  *streamfile.Stream
	bucket string

	mu     sync.Mutex
	ids    map[string]string   // of what each object has now, by its name
	blocks map[string][]uint32 // that hold the pieces of an object, by its id
	// near are the pieces in the block that was read last: what belongs together was
	// written together.
	near      map[string][]byte
	nearBlock uint32
}

func openObjects(dir, bucket string) (*objects, error) {
	s, err := stream(dir, "OBJ_"+bucket)
	if err != nil {
		return nil, err
	}
	return &objects{files: s, bucket: bucket}, nil
}

// get returns the bytes of an object, and whether there is one.
func (o *objects) get(name string) (data []byte, there bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		if err := o.find(); err != nil {
			return nil, false, err
		}
	}
	id, there := o.ids[name]
	for _, block := range o.blocks[id] {
		if err := o.read(block); err != nil {
			return nil, false, err
		}
		data = append(data, o.near[id]...)
	}
	return data, there, nil
}

// find reads the stream once for what there is, and where.
func (o *objects) find() error {
	ids, blocks := map[string]string{}, map[string][]uint32{}
	scan, err := o.files.Scan(func(r streamfile.Record) error {
		if id, ok := o.piece(r); ok {
			if at := blocks[id]; !slices.Contains(at, r.Block) {
				blocks[id] = append(at, r.Block)
			}
			return nil
		}
		if !strings.HasPrefix(r.Subject, "$O."+o.bucket+".M.") {
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
		if ids[about.Name] = about.ID; about.Deleted {
			delete(ids, about.Name)
		}
		return nil
	})
	if err == nil {
		err = scan.Err()
	}
	if err == nil {
		o.ids, o.blocks = ids, blocks
	}
	return err
}

// read has the pieces of a block near.
func (o *objects) read(block uint32) error {
	if o.near != nil && o.nearBlock == block {
		return nil
	}
	near := map[string][]byte{}
	_, err := o.files.ScanBlocks([]uint32{block}, func(r streamfile.Record) error {
		if id, ok := o.piece(r); ok {
			near[id] = append(near[id], bytes.Clone(r.Data)...)
		}
		return nil
	})
	if err == nil {
		o.near, o.nearBlock = near, block
	}
	return err
}

// piece returns the id of the object that a record is a piece of.
func (o *objects) piece(r streamfile.Record) (id string, is bool) {
	return strings.CutPrefix(r.Subject, "$O."+o.bucket+".C.")
}
