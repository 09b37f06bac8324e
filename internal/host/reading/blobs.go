package reading

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of reading blobs.
const (
	blobPart     = 512 << 10 // the most bytes of one answer
	shortestName = 8         // of the beginning of a blob's name
	wholeName    = 64
	mostNamed    = 4096 // names that are remembered
)

// Blobs reads what events name. Who may read a project may read what its events name, and
// nothing else that the store holds. All methods may be called at the same time.
type Blobs struct {
	Store    blob.Store
	Secrets  *redact.Secrets // are taken out of what is read
	Journals *journals.Set
	Projects *registry.Projects

	named named
}

// named remembers which blobs events of a project were found to name: a journal says
// so for good.
type named struct {
	mu    sync.Mutex
	known map[string]*loomv1.BlobRef
}

func (n *named) get(owner, sum string) *loomv1.BlobRef {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[owner+" "+sum]
}

func (n *named) put(owner, sum string, ref *loomv1.BlobRef) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= mostNamed {
		n.known = map[string]*loomv1.BlobRef{}
	}
	n.known[owner+" "+sum] = ref
}

// Part reads a part of a blob.
func (b *Blobs) Part(ctx context.Context, q *loomv1.BlobRequest) (*loomv1.BlobReply, error) {
	if err := checkBlob(q); err != nil {
		return nil, err
	}
	if q.Project != "" && q.Project != project.System && !b.Projects.Has(q.Project) {
		return nil, b.Projects.Suggest(fault.New("project/unknown", "no such project").At("project").Got(q.Project))
	}
	ref, err := b.find(ctx, q.Project, q.Sha256)
	if err != nil {
		return nil, err
	}
	data, redacted, err := b.clean(ctx, ref)
	if err != nil {
		return nil, err
	}
	size := uint64(len(data))
	from := min(q.Offset, size)
	to := min(from+uint64(cmp.Or(q.Limit, blobPart)), size)
	return &loomv1.BlobReply{Data: data[from:to], Size: size, Blob: ref, Redacted: redacted}, nil
}

func checkBlob(q *loomv1.BlobRequest) error {
	switch {
	case len(q.Sha256) < shortestName || len(q.Sha256) > wholeName || strings.Trim(q.Sha256, "0123456789abcdef") != "":
		return fault.New("id/malformed", "not the name of a blob, or its beginning").At("sha256").Got(q.Sha256).Want("8 to 64 of 0-9 and a-f")
	case q.Limit > blobPart:
		return fault.New("usage/argument", "at most %d bytes an answer", blobPart).At("limit")
	case q.Project != "":
		_, err := subject.Parse("project", q.Project)
		return err
	}
	return nil
}

// clean returns a blob without the secrets that this host knows. They are taken
// out of the whole: a part may hold the half of one.
func (b *Blobs) clean(ctx context.Context, ref *loomv1.BlobRef) (data []byte, redacted bool, err error) {
	if data, err = b.Store.Get(ctx, ref); err != nil {
		return nil, false, err
	}
	if clean := b.Secrets.Text(string(data)); clean != string(data) {
		return []byte(clean), true, nil
	}
	return data, false, nil
}

// find returns the blob whose name begins so, of those that events of a project
// name, or of any project.
func (b *Blobs) find(ctx context.Context, owner, beginning string) (*loomv1.BlobRef, error) {
	if ref := b.named.get(owner, beginning); ref != nil {
		return ref, nil
	}
	found := map[string]*loomv1.BlobRef{}
	err := b.Journals.Each(ctx, owner, func(m proto.Message) error {
		blob.Refs(m, func(ref *loomv1.BlobRef) {
			if strings.HasPrefix(ref.GetSha256(), beginning) && found[ref.Sha256] == nil {
				found[ref.Sha256] = proto.CloneOf(ref)
			}
		})
		if len(beginning) == wholeName && len(found) > 0 || len(found) > 1 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	switch sums := slices.Sorted(maps.Keys(found)); len(sums) {
	case 0:
		of := "the deployment"
		if owner != "" {
			of = "project " + owner
		}
		return nil, fault.New("blob/unknown", "no event of %s names such a blob", of).At("sha256").Got(beginning)
	case 1:
		if len(beginning) == wholeName { // of a beginning there may be more one day
			b.named.put(owner, beginning, found[sums[0]])
		}
		return found[sums[0]], nil
	default:
		return nil, fault.New("id/malformed", "several blobs have names that begin so").At("sha256").Got(beginning).
			Want("more of the name, for example %.*s", len(beginning)+8, sums[0])
	}
}
