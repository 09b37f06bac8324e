package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guard is a planted bug that one test by name must see: the simulation does not
// get to it, or cannot tell it from what is right.
type guard struct {
	bug
	dir, test string // the test, and where it is
}

var guards = []guard{
	{
		bug{"a signed command needs no nonce", whole + "override.go", `return nonce != "" && len(nonce) <= MaxKey`, `return len(nonce) <= MaxKey`, ""},
		whole, "TestP09_OnlyTheCEOsSignatureOnThisDigestCounts",
	},
	{
		bug{"a revoked key's answer is taken", "internal/core/keyring/keyring.go", `case k.RevokedAt != nil:
			return nil, fault.New("key/revoked"`, `case false:
			return nil, fault.New("key/revoked"`, ""},
		whole, "TestSIGN02_AnswersNameTheirKeyAndARevokedOneSignsNoMore",
	},
	{
		bug{"two answers of one key count as two of N", whole + "keys.go", `if o.Key != d.signer.Name && d.s.ring.Holds(o.Key)`, `if d.s.ring.Holds(o.Key)`, ""},
		whole, "TestSIGN02_TwoOfNAreTwoDifferentKeys",
	},
	{
		bug{"what a revoked key signed counts towards N", whole + "keys.go", `d.s.ring.Holds(o.Key) && o.Decision`, `o.Decision`, ""},
		whole, "TestSIGN02_TwoOfNAreTwoDifferentKeys",
	},
	{
		bug{"a passkey's evidence is for any payload", "internal/core/keyring/passkey.go", `case subtle.ConstantTimeCompare([]byte(said.Challenge),`, `case said.Challenge == "" && subtle.ConstantTimeCompare([]byte(said.Challenge),`, ""},
		"internal/core/keyring/", "TestSIGN04_EvidenceIsForOnePayloadOnOnePageByAPersonWhoWasVerified",
	},
	{
		bug{"a limit of time that is set takes back what was granted of tokens", whole + "limit.go", `keep(granted.Tokens, old.GetTokens(), next.GetTokens()),`, `min(keep(granted.Tokens, old.GetTokens(), next.GetTokens()), keep(granted.Tokens, old.GetWallSeconds(), next.GetWallSeconds())),`, ""},
		whole, "TestBYD05_WhatIsGrantedOfTokensStandsWhenAnotherLimitIsLowered",
	},
	{
		bug{"a question that is asked anew says what was true before", whole + "limit.go", `	next.Reason = overBudget + ": " + d.whyAnew(x, a)
`, ``, ""},
		whole, "TestSIGN01_AQuestionThatIsAskedAnewSaysWhatIsTrueNow",
	},
	{
		bug{"a start with other flags answers what an operator's raise left open", whole + "day.go", `!hadRoom[x.Id] && `, ``, ""},
		whole, "TestSIGN01_AQuestionThatIsAskedAnewSaysWhatIsTrueNow",
	},
	{
		bug{"a call looks at no budget of a parent", whole + "reserve.go", `for y := x; y != nil; y = s.execution(y.Parent) {`, `for y := x; y != nil; y = nil {`, ""},
		whole, "TestBYD05_ACallFitsIntoWhatThoseAboveHave",
	},
	{
		bug{"a key counts for every kind of identity", whole + "submit.go", `hexHash("request", d.actor.GetKind().String(), d.actor.GetName(), key)`, `hexHash("request", d.actor.GetName(), key)`, ""},
		whole, "TestSUB02_TheSameKeyFilesNothingNew",
	},
	{
		bug{"a gate's answer counts in any state", flow + "approval.go", `if st.GetStatus() != want ||`, `if st.GetStatus() != want && !a.Gate ||`, ""},
		flow, "TestWF07_DecideRefuses",
	},
	{
		bug{"the hash after a cut may be any", "internal/store/journal/cut.go", `case next != c.GetSequence()+1 || !bytes.Equal(b.Previous, c.GetHash()):`, `case next != c.GetSequence()+1 || !bytes.Equal(b.Previous, b.Previous):`, ""},
		"internal/store/retention/", "TestP3_OPS03_AJournalThatIsShorterWithoutACutIsDamage",
	},
	{
		bug{"a lease lapses by when the bucket answers", "internal/net/lease/timing.go", `switch over := asked >= s.lapse(); {`, `switch over := now >= s.lapse(); {`, ""},
		"internal/net/lease/", "TestSight",
	},
	{
		bug{"an older revision loses no lease", "internal/net/lease/timing.go", `	case r.revision < t.revision: // the bucket was made anew, or this server is far behind
		t.lost = true
`, `	case r.revision < t.revision:
`, ""},
		"internal/net/lease/", "TestTenure",
	},
	{
		bug{"the lead votes before the others", "graph/ballotcheck.go", `case b.Status == ballotOpen && role == Lead && b.Rule != byLead && !slices.Contains(b.Voters, role):`, `case false:`, ""},
		"graph/", "TestGRAPH05_TheLeadDoesNotVoteBeforeTheOthers",
	},
	{
		bug{"a decided ballot is opened again", "graph/ballotcheck.go", `if there := g.ballots[i]; there != nil && !void(there) ||`, `if there := g.ballots[i]; there != nil && there.Status != ballotClosed ||`, ""},
		"graph/", "TestGRAPH05_TheFoldOpensADecisionOnce",
	},
	{
		bug{"an intent is sealed twice", sessions + "possible.go", `case s.seal != nil && !s.confirm:
			return "the intent is sealed already"`, `case false:
			return "the intent is sealed already"`, ""},
		sessions, "TestPAT02_NoFactBreaksARule",
	},
	{
		bug{"an agent seals", sessions + "possible.go", `case !isPerson(f.Sealed.By):`, `case false:`, ""},
		sessions, "TestPAT02_NoFactBreaksARule",
	},
	{
		bug{"a step begins before the seal", sessions + "possible.go", `if s.seal == nil || !s.passed || s.confirm || s.running ||`, `if s.running ||`, ""},
		sessions, "TestPAT02_NoFactBreaksARule",
	},
	{
		bug{"a step is folded beside another", sessions + "possible.go", `s.confirm || s.running || s.aborted != nil`, `s.confirm || s.aborted != nil`, ""},
		sessions, "TestPAT02_NoFactBreaksARule",
	},
	{
		bug{"any layer is folded", sessions + "possible.go", `|| !slices.Contains(s.stepOf(f.Written.Step).Writes, f.Written.Layer) {`, `{`, ""},
		sessions, "TestPAT02_NoFactBreaksARule",
	},
	{
		bug{"a step writes where it does not declare", sessions + "step.go", `case !slices.Contains(step.Writes, w.Layer):`, `case false:`, ""},
		sessions, "TestPAT05_AWriteElsewhereIsRefused",
	},
	{
		bug{"an abort leaves the session's memory", sessions + "steering.go", `PatternAborted{Record: record}`, `PatternAborted{Record: record}
	defer func() {
		if n := len(d.facts); n > 0 && d.facts[n-1].GetFlushed() != nil {
			d.facts = d.facts[:n-1]
		}
	}()`, ""},
		sessions, "TestPAT04_AbortAtTheBoundary",
	},
	{
		bug{"an abort does not wait for the step", sessions + "steering.go", `	if !d.running {
		d.abortNow(d.step.GetStep())
	}`, `	d.abortNow(d.step.GetStep())`, ""},
		sessions, "TestPAT04_AbortAtTheBoundary",
	},
	{
		bug{"a refused question is asked", sessions + "primacy.go", `	case verdict.Rule != "": // what`, `	case false: // what`, ""},
		sessions, "TestPAT02_ThreeRefusalsBringThePatternsQuestions",
	},
	{
		bug{"a turn of a model counts again", whole + "interview.go", `s.Heard() == c.Heard`, `s.Heard() >= c.Heard`, ""},
		whole, "TestPAT02_ATurnIsHeardOnce",
	},
	{
		bug{"a session's work is forked", whole + "fork.go", `if err := d.s.ofSession(x.Bead, x.Definition); err != nil {`, `if err := d.s.ofSession(x.Bead, x.Definition); false {`, ""},
		whole, "TestPAT02_WaysAroundPrimacyAreRefusedAndRecorded",
	},
}

// TestP21_EveryGuardHasItsPlace looks for the text and the test of each guard.
func TestP21_EveryGuardHasItsPlace(t *testing.T) {
	for _, g := range guards {
		g.planted(t)
		files, err := filepath.Glob(filepath.Join(moduleRoot, g.dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(data), "\nfunc "+g.test+"(t *testing.T) {")
		}
		if !found {
			t.Errorf("%s: there is no %s in %s", g.name, g.test, g.dir)
		}
	}
}
