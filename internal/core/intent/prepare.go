package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *decision) validate(v *loomv1.ValidateIntent) error {
	if err := d.allowed(host, "META validation", Meta); err != nil {
		return err
	}
	if d.judged {
		return fault.New("intent/meta", "the envelope was judged, and has not passed").Want("revise it, or abort")
	}
	findings := Validate(d.envelope, d.pattern, v.GetMeans())
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Validated{Validated: &loomv1.MetaValidated{Findings: findings, Passed: !Blocks(findings)}}})
	if d.passed {
		d.enter(Activation, 0)
	}
	return nil
}

func (d *decision) activate(a *loomv1.ActivatePattern) error {
	if err := d.allowed(host, "activation", Activation); err != nil {
		return err
	}
	if len(a.GetAgents()) != len(d.pattern.Steps) || slices.Contains(a.Agents, "") {
		return fault.New("intent/invalid", "each of %d steps has an agent", len(d.pattern.Steps)).At("agents")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Activated{Activated: a}})
	d.enter(Inputs, 0)
	return nil
}

var hexDigest = lazy.Compile(`^[0-9a-f]{64}$`)

func isBlob(b *loomv1.BlobRef) bool { return hexDigest.MatchString(b.GetSha256()) }

func (d *decision) prepare(p *loomv1.PrepareInputs) error {
	if err := d.allowed(host, "input preparation", Inputs); err != nil {
		return err
	}
	if err := CheckInputs(d.pattern, p.GetInputs()); err != nil {
		return err
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Prepared{Prepared: p}})
	d.start(d.first)
	return nil
}

// CheckInput refuses, with intent/input, a text that an input cannot be: nothing where it is
// required, and words where it is a number.
func CheckInput(in *loomv1.PatternInput, text string) error {
	said := strings.TrimSpace(text)
	switch n, isNumber := number(said); {
	case said == "" && in.GetRequired():
		return fault.New("intent/input", "input %q is required, and there is nothing in it", in.Name).At("inputs").Want("--input %s=FILE, with %s", in.Name, strings.TrimSuffix(in.Description, "."))
	case said != "" && in.GetType() == "number" && (!isNumber || n-n != 0): // NaN, Inf
		return fault.New("intent/input", "input %q is a number, and no text", in.Name).At("inputs").Got(cut(said)).Want("digits alone, as 7 or 2.5")
	}
	return nil
}

// CheckInputs refuses inputs, with intent/input, that are not those of a pattern: each
// once, of its type, named by its hash, and none missing that is required.
func CheckInputs(p *loomv1.Pattern, inputs []*loomv1.PreparedInput) error {
	seen := map[string]bool{}
	for i, in := range inputs {
		where := fmt.Sprintf("inputs[%d]", i)
		k := slices.IndexFunc(p.Inputs, func(x *loomv1.PatternInput) bool { return x.Name == in.Name })
		switch {
		case k < 0 || seen[in.Name]:
			return fault.New("intent/input", "the pattern has no such input, or it is there twice").At(where).Got(in.Name)
		case p.Inputs[k].Type != in.Type:
			return fault.New("intent/input", "input %q is a %s", in.Name, p.Inputs[k].Type).At(where).Got(in.Type)
		case !isBlob(in.Content):
			return fault.New("intent/input", "input %q has no SHA-256", in.Name).At(where)
		}
		seen[in.Name] = true
	}
	for _, in := range p.Inputs {
		if in.Required && !seen[in.Name] {
			return fault.New("intent/input", "input %q is missing", in.Name).At("inputs").Want("--input %s=FILE", in.Name)
		}
	}
	return nil
}
