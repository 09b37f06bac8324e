// Package clean takes the values of secrets out of what comes to a host and what it
// answers.
package clean

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// refers are the fields that name what there is: projects, beads, roles, hosts,
// commits. They are checked against that, so nobody brings a secret in by one;
// and a variable whose value is a word, such as a project's name, must not make
// that project unknown.
var refers = func() map[protoreflect.Name]bool {
	all := map[protoreflect.Name]bool{}
	for _, name := range strings.Fields(`
		about address after again agent approval architect archive archive_sha256 assignee attempt awaits ballot base bead
		beads blocked_by blocks call ceo child children code commit decision default_process definition definition_hash
		deployment digest execution fingerprint follows from halted_by head heard host hosts id joined limit_approval
		lineage makers media_type model name new next node nonce of old option options parent parent_attempt parked part patch_digest
		permissions phase process project projects public_key ref removed result role role_from roles_any rule sha256
		target_branch to tool tree verified version voters waits_for what`) {
		all[protoreflect.Name(name)] = true
	}
	return all
}()

// Secrets are those that a host knows. All methods may be called at the same time.
type Secrets struct{ *redact.Secrets }

// Command is a command without the secrets that this host knows. What is
// signed cannot be changed, and is refused instead. What the host's own files
// and flags say of projects and workflows is kept as it is: they are the
// operator's, and known by their digests. Who wants the lock says nothing but
// ids, by that of the attempt among them.
func (s Secrets) Command(cmd *loomv1.Command) (*loomv1.Command, error) {
	switch b := cmd.GetBody().(type) {
	case *loomv1.Command_RegisterProject, *loomv1.Command_StoreDefinition, *loomv1.Command_AcquireLock:
		return cmd, nil
	case *loomv1.Command_Signed:
		if names := s.In(string(b.Signed.GetPayload())); len(names) > 0 && !s.onlyRefers(b.Signed.GetPayload()) {
			return nil, fault.New("command/secret", "what is signed holds the value of %s", strings.Join(names, " and ")).At("payload").
				Want("say it without, and sign that")
		}
	}
	return redact.Message(s.Secrets, cmd, refers), nil
}

// onlyRefers reports whether what is signed has secrets, if any, only where it
// names what there is.
func (s Secrets) onlyRefers(payload []byte) bool {
	c := &loomv1.CeoCommand{}
	return actors.Decode("", payload, c) == nil && redact.Message(s.Secrets, c, refers) == c
}

// Answer is an answer without the secrets that this host knows: what an
// earlier release kept, and what an error repeats of the request.
func (s Secrets) Answer(m proto.Message) proto.Message {
	if m == nil {
		return nil
	}
	return redact.Message(s.Secrets, m, refers)
}

// Error is an error without the secrets that this host knows.
func (s Secrets) Error(err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err).Proto()
	if clean := redact.Message(s.Secrets, e, refers); clean != e {
		return fault.FromProto(clean)
	}
	return err
}

// Aside is what is kept of a message that is set aside. Its data are a
// text to people; of a message in protobuf with a secret no other is left.
func (s Secrets) Aside(m *loomv1.SetAside) *loomv1.SetAside {
	clean := redact.Message(s.Secrets, m, refers)
	if text := s.Text(string(clean.Data)); text != string(clean.Data) {
		clean = proto.CloneOf(clean)
		clean.Data = []byte(text)
	}
	return clean
}
