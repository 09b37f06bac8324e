package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The fields of an intent, by their short names.
const (
	Goal        = loomv1.IntentField_INTENT_FIELD_GOAL
	Constraints = loomv1.IntentField_INTENT_FIELD_CONSTRAINTS
	Audience    = loomv1.IntentField_INTENT_FIELD_AUDIENCE
	Scope       = loomv1.IntentField_INTENT_FIELD_SCOPE
	Success     = loomv1.IntentField_INTENT_FIELD_SUCCESS
)

// Fields are the fields of an envelope, in their order.
var Fields = []loomv1.IntentField{Goal, Constraints, Audience, Scope, Success}

// Quotations returns those of a field.
func Quotations(e *loomv1.IntentEnvelope, field loomv1.IntentField) []*loomv1.Quotation {
	switch field {
	case Goal:
		return e.GetGoal()
	case Constraints:
		return e.GetConstraints()
	case Audience:
		return e.GetAudience()
	case Scope:
		return e.GetScope()
	case Success:
		return e.GetSuccess()
	}
	return nil
}

// FieldName spells a field: "goal".
func FieldName(f loomv1.IntentField) string { return word(f.String(), "INTENT_FIELD_") }

// word is the name of an enum's value in lower case, without its prefix and
// with hyphens.
func word(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", "-")
}

// PatternDigest is the SHA-256 of a pattern, in lower-case hex.
func PatternDigest(p *loomv1.Pattern) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		panic(err) // only text that is not UTF-8, and no pattern that was read has it
	}
	return digest(b)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Canonical returns an envelope as JSON by RFC 8785: all members, in the order
// of their names, no space, and only the escapes that must be.
func Canonical(e *loomv1.IntentEnvelope) []byte {
	var b strings.Builder
	b.WriteString(`{"answers":[`)
	for i, a := range e.GetAnswers() {
		comma(&b, i)
		fmt.Fprintf(&b, `{"about":%s,"by":{"kind":%s,"name":%s},"number":%d,"question":%s,"text":%s,"time":%s}`,
			text(FieldName(a.GetAbout())), text(word(a.GetBy().GetKind().String(), "IDENTITY_KIND_")), text(a.GetBy().GetName()), a.GetNumber(),
			text(a.GetQuestion()), text(a.GetText()), text(a.GetTime().AsTime().Format(time.RFC3339Nano)))
	}
	b.WriteString("]")
	quotes := func(f loomv1.IntentField) {
		fmt.Fprintf(&b, `,%s:[`, text(FieldName(f)))
		for i, q := range Quotations(e, f) {
			comma(&b, i)
			fmt.Fprintf(&b, `{"answer":%d,"text":%s}`, q.GetAnswer(), text(q.GetText()))
		}
		b.WriteString("]")
	}
	quotes(Audience)
	quotes(Constraints)
	quotes(Goal)
	fmt.Fprintf(&b, `,"id":%s,"pattern":%s,"pattern_digest":%s`, text(e.GetId()), text(e.GetPattern()), text(e.GetPatternDigest()))
	quotes(Scope)
	quotes(Success)
	fmt.Fprintf(&b, `,"supersedes":%s}`, text(e.GetSupersedes()))
	return []byte(b.String())
}

// Digest is the SHA-256 of the canonical form, in lower-case hex.
func Digest(e *loomv1.IntentEnvelope) string { return digest(Canonical(e)) }

func comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

// text writes a string as RFC 8785 has it.
func text(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < ' ' {
				fmt.Fprintf(&b, `\u%04x`, r)
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// maxQuotations is how many a field may have.
const maxQuotations = 16

// CheckQuotations refuses, with intent/quotation, an envelope with a quotation
// that no answer has word for word.
func CheckQuotations(e *loomv1.IntentEnvelope) error {
	for _, f := range Fields {
		quotes := Quotations(e, f)
		if len(quotes) > maxQuotations {
			return fault.New("intent/quotation", "%d quotations, more than %d", len(quotes), maxQuotations).At(FieldName(f))
		}
		for i, q := range quotes {
			where := fmt.Sprintf("%s[%d]", FieldName(f), i)
			answer := answerOf(e.GetAnswers(), q.GetAnswer())
			switch {
			case answer == nil:
				return fault.New("intent/quotation", "there is no answer %d", q.GetAnswer()).At(where)
			case strings.TrimSpace(q.GetText()) == "" || !utf8.ValidString(q.GetText()):
				return fault.New("intent/quotation", "a quotation is empty").At(where)
			case !strings.Contains(answer.GetText(), q.GetText()):
				return fault.New("intent/quotation", "answer %d does not have these words", q.GetAnswer()).At(where).Want("quote it word for word")
			}
		}
	}
	return nil
}

func answerOf(all []*loomv1.IntentAnswer, number uint32) *loomv1.IntentAnswer {
	for _, a := range all {
		if a.GetNumber() == number {
			return a
		}
	}
	return nil
}
