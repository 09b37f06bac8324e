package intent

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// The tempos, by their short names.
const (
	Allegro = loomv1.Tempo_TEMPO_ALLEGRO
	Andante = loomv1.Tempo_TEMPO_ANDANTE
	Adagio  = loomv1.Tempo_TEMPO_ADAGIO
)

// Setting is what a tempo means, in words and as limits.
type Setting struct {
	Verbosity, Granularity, Depth, Initiative string

	answerBytes, iterations, thinking, questions uint32
	tier                                         int // added to the step's own
}

// ordinaryTier is the model of a step whose tempo moves it neither up nor down.
const ordinaryTier = 2

var settings = map[loomv1.Tempo]Setting{
	Allegro: {"minimal", "coarse", "shallow", "high", 2 << 10, 12, 0, 0, -1},
	Andante: {"balanced", "normal", "moderate", "moderate", 8 << 10, 30, 4096, 2, 0},
	Adagio:  {"detailed", "fine", "deep", "low", 24 << 10, 60, 16384, 8, +1},
}

// SettingOf returns what a tempo means; one that is not set is andante.
func SettingOf(t loomv1.Tempo) Setting {
	if s, ok := settings[t]; ok {
		return s
	}
	return settings[Andante]
}

// TempoOf returns the tempo that holds for a step: the operator's live one, else
// the step's, else the pattern's, else andante.
func TempoOf(live loomv1.Tempo, step *loomv1.PatternStep, p *loomv1.Pattern) loomv1.Tempo {
	for _, t := range []loomv1.Tempo{live, step.GetTempo(), p.GetDefaultTempo()} {
		if _, ok := settings[t]; ok {
			return t
		}
	}
	return Andante
}

// LimitsOf returns what a step is held to at a tempo: a coarse one stops
// nowhere, a normal one where the pattern says, a fine one after each step.
func LimitsOf(t loomv1.Tempo, step *loomv1.PatternStep) *loomv1.TempoLimits {
	s := SettingOf(t)
	return &loomv1.TempoLimits{
		Tempo: t, AnswerBytes: s.answerBytes, Iterations: s.iterations, ModelTier: uint32(ordinaryTier + s.tier), //nolint:gosec // 1 to 3
		ThinkingTokens: s.thinking, Questions: s.questions,
		Stops: s.Granularity == "fine" || s.Granularity == "normal" && step.GetStop(),
	}
}
