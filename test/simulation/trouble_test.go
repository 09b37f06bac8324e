package simulation

import "slices"

// trouble is a kind of fault.
type trouble int

const (
	requestLost trouble = iota
	requestTwice
	acknowledgementLost
	appendLost
	appendLate
	crashBefore
	crashAfter
	epochRaised
	assignmentLost
	assignmentTwice
	assignmentLate
	agentDies
	agentSleeps
	agentFails
	agentGoesOn
	agentLies
	agentGivesBack
	agentRepeats
	hostStartsAgain
	zombieLives
	timeJumps
	targetMoves
	ceoIsSlow
	ceoClicksTwice
	ceoContradicts
	ceoReadsOld
	ceoIsForged
	publisherRepeats
	errorRepeats
	ceoPauses
	ceoMoves
	ceoCloses
	ceoDefines
	operatorChanges
	operatorCloses
	operatorReopens
	operatorForks
	rolesGo
	agentFiles
	ceoTakesLock
	rateLimited
	agentPlansBadly
	agentDelegates
	changesClash
	troubles
)

// troubleNames are how a recipe names them.
var troubleNames = [troubles]string{
	"request lost", "request twice", "acknowledgement lost", "append lost", "append late", "crash before", "crash after",
	"epoch raised", "assignment lost", "assignment twice", "assignment late", "agent dies", "agent sleeps", "agent fails",
	"agent goes on", "agent lies", "agent gives back", "agent repeats", "host starts again", "zombie lives", "time jumps",
	"target moves", "ceo is slow", "ceo clicks twice", "ceo contradicts", "ceo reads old", "ceo is forged",
	"publisher repeats", "error repeats", "ceo pauses", "ceo moves", "ceo closes", "ceo defines", "operator changes",
	"operator closes", "operator reopens", "operator forks", "roles go", "agent files", "ceo takes lock", "rate limited",
	"agent plans badly", "agent delegates", "changes clash",
}

// drawRates switches half of the kinds of trouble off, and draws how often the
// others come.
func (w *world) drawRates() {
	for i := range w.rate {
		if rate := 0.01 + 0.24*w.rng.Float64(); w.rng.IntN(2) == 0 && !slices.Contains(w.recipe.Off, troubleNames[i]) {
			w.rate[i] = rate
		}
	}
	for _, k := range []trouble{appendLost, appendLate, crashBefore, crashAfter} {
		w.rate[k] /= 8 // each costs a replay, and all work on the way
	}
	w.rate[agentDies] /= 2 // each costs the CEO an answer, whose signature takes as long as twenty steps
	w.rate[agentFails] /= 2
	w.rate[zombieLives] *= 3
}

// chance reports whether a kind of fault happens now.
func (w *world) chance(k trouble) bool {
	return !w.calm && w.rate[k] > 0 && w.rng.Float64() < w.rate[k]
}
