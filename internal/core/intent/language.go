package intent

import (
	"strings"
	"unicode"

	"github.com/loomrun/loom/internal/base/lazy"
)

// tokens returns the words of a text: letters, digits, and apostrophes and
// hyphens within.
func tokens(text string) (words []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("'’-", r)
	}) {
		if w = strings.Trim(strings.NewReplacer("'", "", "’", "").Replace(w), "-"); w != "" {
			words = append(words, w)
		}
	}
	return words
}

func lower(words []string) []string {
	low := make([]string, len(words))
	for i, w := range words {
		low[i] = strings.ToLower(w)
	}
	return low
}

// vocabulary is a set of words by their stems.
type vocabulary map[string]bool

func (v vocabulary) add(text string) {
	for _, w := range tokens(text) {
		v[stem(strings.ToLower(w))] = true
	}
}

func (v vocabulary) has(word string) bool {
	s := stem(word)
	if v[s] {
		return true
	}
	// Compounds and derivations: a long common beginning.
	for w := range v {
		if n := common(w, s); n >= 6 && len(w)-n <= 3 && len(s)-n <= 3 {
			return true
		}
	}
	return false
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// stem takes the commonest endings of English and German off a word, as long as
// four letters are left.
func stem(w string) string {
	for {
		rest := w
		for _, end := range []string{"ung", "ing", "ie", "er", "es", "ed", "en", "em", "e", "s", "n", "y", "t"} {
			if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 4 {
				rest = cut
				break
			}
		}
		if rest == w {
			return w
		}
		w = rest
	}
}

// lexicon is what the governor knows of a language.
type lexicon struct {
	reframing, summary, proposal, example, openOr *lazy.Regexp
	// or joins options.
	or string
	// asking are words that a question which is not answered by yes or no begins
	// with, at one of its first three places.
	asking map[string]bool
	// states says whether a question begins as a statement does.
	states func(first string) bool
	// stop are words without a content.
	stop map[string]bool
	// neutral are words that one asks with, and that name nothing of the work.
	neutral vocabulary
	// definite are words that what follows is known after.
	definite map[string]bool
	// adjectives stand between these and the thing.
	adjectives map[string]bool
	// namesStandOut says whether only names have capital letters.
	namesStandOut bool
}

// opens says whether a question asks for more than yes or no.
func (l *lexicon) opens(words []string) bool {
	for i := range min(3, len(words)) {
		w := strings.ToLower(words[i])
		if l.asking[w] {
			return true
		}
		if !l.stop[w] {
			return false
		}
	}
	return false
}

// thing returns the noun that words begin with, or "".
func (l *lexicon) thing(words []string) string {
	for i, w := range words[:min(3, len(words))] {
		low := strings.ToLower(w)
		switch {
		case l.adjectives[low]:
		case unicode.IsDigit([]rune(w)[0]):
			return ""
		case l.namesStandOut:
			if l.stop[low] {
				return ""
			}
			return w
		case unicode.IsUpper([]rune(w)[0]):
			return w
		case l.stop[low] || i == 2:
			return ""
		}
	}
	return ""
}

// languageOf returns the language that most of the words without content are
// of, "" where none or several are.
func languageOf(words []string) string {
	en, de := 0, 0
	for _, w := range words {
		w = strings.ToLower(w)
		if inEnglish, inGerman := lexicons["en"].stop[w], lexicons["de"].stop[w]; inEnglish != inGerman {
			if inEnglish {
				en++
			} else {
				de++
			}
		}
	}
	switch {
	case en > de && 4*en >= len(words):
		return "en"
	case de > en && 4*de >= len(words):
		return "de"
	}
	return ""
}

func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

func one(list string) func(string) bool {
	known := set(list)
	return func(w string) bool { return known[w] }
}

func not(list string) func(string) bool {
	known := set(list)
	return func(w string) bool { return !known[w] }
}

func words(text string) vocabulary {
	v := vocabulary{}
	v.add(text)
	return v
}

// phrases matches any of the phrases, which are regular expressions over words
// in lower case.
func phrases(list ...string) *lazy.Regexp {
	return lazy.Compile(` (?:` + strings.Join(list, "|") + `) `)
}

var lexicons = map[string]*lexicon{
	"en": {
		reframing: phrases(
			"really about", "the real (?:question|problem|issue|goal|need|point)", "the better question", "actually (?:about|want|need|mean)",
			"what you (?:really|actually)", "(?:rather|instead) than", "rather than", "instead of", "better (?:put|framed|seen)", "underlying", "deep down", "in truth",
			"isnt (?:this|that|it|the)", "at its core", "the true", "reframe", "look at (?:it|this) (?:as|differently)", "more of an?",
		),
		summary: phrases(
			"so (?:you|your|the|this|it|we|what you)", "if i (?:understand|understood|got|get|hear|heard)", "do i understand", "did i (?:get|understand)", "in other words", "to (?:summari[sz]e|sum up|recap|confirm)",
			"you (?:mentioned|said|told|want|need|are saying|have said|mean)(?: me)? that", "you (?:mentioned|said|told)", "am i right", "is (?:that|this|it) (?:right|correct|so|true)", "sounds like", "it seems", "it appears",
			"(?:right|correct|yes|ok|okay|agreed)$", "in short", "in summary", "basically", "essentially", "isnt it", "arent you", "dont you", "doesnt it",
		),
		proposal: phrases(
			"how about", "what about", "what if", "why not", "why (?:dont|do not|doesnt|not)(?: we| you| i)?", "have you (?:considered|thought|tried)", "did you (?:consider|think)", "do(?:nt)? you think", "would(?:nt)? (?:it|that|this) (?:help|be|make|work)",
			"(?:should|shall|could|can|may|might) (?:we|i)", "let (?:me|us)", "lets", "i(?: would| will| can| could|d|ll)? (?:propose|suggest|recommend|think|believe|offer|start|begin)", "my (?:suggestion|proposal|plan|idea|recommendation|advice)",
			"we (?:could|should|might|can)", "would you (?:like|want|prefer) me", "do you want me", "would you (?:like|prefer|consider)", "what do you (?:think of|think about|say to)", "how do(?:es)? .* sound", "do you like", "are you open to", "good idea", "makes? sense", "perhaps", "maybe",
			"how would you feel", "consider(?:ing)?", "here is", "heres", "propos\\w*", "recommend\\w*", "suggest\\w*", "ideal(?:ly)?", "worth trying", "imagine",
		),
		example:       phrases("such as", "for (?:example|instance)", "like an?", "including", "e g", "say an?", "namely", "as in", "along the lines of", "versus", "vs", "either"),
		openOr:        lazy.Compile(`^ or (?:not|so|less|more|anything|anyone|anybody|any|others?|else|later|earlier) `),
		or:            "or",
		namesStandOut: true,
		states:        not("is are was were am do does did has have had can could will would shall should may might must isnt arent wasnt werent dont doesnt didnt hasnt havent cant couldnt wont wouldnt shouldnt must"),
		asking:        set("what who whom whose which when where why how"),
		definite:      set("the this these those your our their"),
		adjectives:    set("last first next whole final same other only main present current single whole entire best worst most least own very"),
		stop: set(`a an the this that these those it its i you he she we they me him her us them my your his our their mine yours and or but if then than as of at by for with about against
			between into through during before after above below to from up down in out on off over under again is are was were be been being am do does did doing done has have had having
			can could will would shall should may might must not no nor only own same so too very there here what who whom whose which when where why how all any both each few more most other some
			such one ones once also just ever never always already yet still anything anyone anybody something someone somebody nothing nobody everything everyone everybody else whether while until
			because since without within upon per via like many much every either neither whatever whoever isnt arent dont doesnt didnt wont cant wouldnt shouldnt couldnt`),
		neutral: words(`ask answer know known need want wish expect hope think understand mean matter happen come go get give take keep make use work do know see look find show tell say read write hear feel learn decide choose
			approve agree sign accept reject check judge measure test compare call name count belong exist change stay remain avoid leave include exclude contain cover allow forbid permit require respect limit bound bind
			finish start begin end stop wait last help fail succeed exist have try done ready
			goal aim purpose reason result outcome output decision question answer problem task work session subject topic matter thing kind sort type part point place time date day week month year deadline moment hour minute
			length size number amount limit constraint boundary rule requirement condition budget cost money price effort risk scope range edge detail form format style tone language word term name title text document page file
			person people reader audience user customer team group member owner colleague expert boss public stakeholder sponsor side
			success failure quality criterion criteria evidence proof sign measure mark standard example reference material source input data fact information knowledge experience history background context situation case
			good bad better best worse useful useless important necessary possible impossible enough clear certain sure new old long short large small big late early high low wrong right different specific particular present current
			first second third next final main most least two three few several often away ahead afterwards today tomorrow yesterday now far beyond behind around together apart per cent idea way comparison terms`),
	},
	"de": {
		reframing: phrases(
			"eigentlich", "in wahrheit", "(?:das|die|der) (?:wahre|eigentliche|wirkliche)\\w*", "(?:im|vom) (?:kern|grunde)", "vielmehr", "(?:an)?statt", "anstelle", "besser (?:gesagt|formuliert|gefragt)", "die bessere frage", "in wirklichkeit", "umformulieren", "anders betrachtet", "tats[äa]chlich um",
		),
		summary: phrases(
			"also", "richtig verstanden", "verstehe ich", "wenn ich (?:sie|dich|es|das|richtig)", "mit anderen worten", "zusammen(?:gefasst|fassend)", "kurz gesagt", "(?:sie|du) (?:sagten|sagtest|haben gesagt|hast gesagt|erw[äa]hnten|erw[äa]hntest|meinen|meinst)",
			"(?:richtig|korrekt|stimmts|ja|oder|nicht wahr|nicht|gell)$", "stimmt (?:das|es|dass)", "das hei[ßs]t", "im grunde genommen",
		),
		proposal: phrases(
			"wie w[äa]re", "was halten sie", "was h[äa]ltst du", "wie finden sie", "wie findest du", "gef[äa]llt", "warum (?:\\S+ )?(?:wir|sie|du) nicht", "warum nicht", "w[äa]re es (?:nicht|gut|besser|sinnvoll)", "sollen? (?:wir|ich)", "sollten? (?:wir|ich)", "k[öo]nnten? (?:wir|ich)", "k[öo]nnen? wir", "kann ich", "darf ich",
			"ich (?:schlage|w[üu]rde|empfehle|k[öo]nnte|denke|glaube|meine)", "mein vorschlag", "meine idee", "wir (?:k[öo]nnten|sollten)", "(?:haben sie|hast du) (?:schon |auch )?(?:einmal |mal )?(?:an|dar[üu]ber|überlegt|erwogen)", "gedacht", "vielleicht", "einverstanden", "lassen sie uns", "lass uns", "m[öo]chten sie dass ich", "empfehl\\w*", "vorschlag(?:en|e)", "sinnvoll", "stellen sie sich vor", "ideal\\w*",
		),
		example:    phrases("zum beispiel", "beispielsweise", "z b", "etwa", "wie (?:etwa|zum)", "n[äa]mlich", "entweder", "beziehungsweise", "sei es", "einschlie[ßs]lich"),
		openOr:     lazy.Compile(`^ oder (?:nicht|so|mehr|weniger|andere\w*|sonst|etwas|jemand\w*) `),
		or:         "oder",
		states:     one("sie du ihr er es ich wir man der die das ein eine unser unsere da dann dies diese"),
		asking:     set("wer was wie wo wann warum welche welcher welches welchen welchem wen wem wessen woran wofür wofuer womit worauf wovon wohin woher wozu wodurch worin wieviel wieviele weshalb wieso worüber"),
		definite:   set("der die das den dem des dieser diese dieses diesen diesem ihr ihre ihren ihrem ihrer"),
		adjectives: set("letzte letzten erste ersten nächste nächsten ganze ganzen einzige einzigen eigene eigenen"),
		stop: set(`der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber wenn dann als wie von zu zur zum im in an am auf aus bei bis durch für gegen mit nach ohne über um unter vor
			zwischen während seit ist sind war waren sein wird werden wurde würde würden hat haben hatte hätte habe kann können könnte könnten soll sollen sollte sollten muss müssen müsste darf dürfen dürfte will wollen mag möchte möchten
			nicht nur auch schon noch sehr so da dort hier es er sie wir ich du ihr mich mir dich dir ihn ihm ihnen uns euch sich mein meine dein deine ihre ihren ihrem ihrer unser unsere unseren man jemand niemand etwas nichts alles alle jeder jede jedes
			wer was wo wann warum welche welcher welches welchen welchem wen wem wessen woran wofür womit worauf wovon wohin woher wozu weshalb wieso dass ob weil damit dies diese dieser dieses diesen diesem mehr weniger viele viel wenig gibt
			am ende immer nie bereits jetzt heute sonst dabei dazu davon dafür darauf selbst`),
		neutral: words(`fragen antworten wissen brauchen wollen wünschen erwarten hoffen denken verstehen bedeuten zählen geschehen passieren kommen gehen bekommen geben nehmen behalten machen benutzen nutzen verwenden arbeiten tun sehen finden zeigen sagen
			lesen schreiben hören fühlen lernen entscheiden wählen freigeben zustimmen annehmen ablehnen prüfen beurteilen bewerten messen vergleichen gehören ändern bleiben vermeiden weglassen enthalten umfassen erlauben verbieten verlangen beachten begrenzen
			ausschließen schließen fertig beginnen anfangen enden aufhören warten dauern helfen scheitern gelingen kennen erkennen würden
			ziel zweck grund ergebnis entscheidung frage antwort problem aufgabe arbeit sitzung thema sache ding art teil punkt stelle ort zeit termin datum tag woche monat jahr frist stunde minute länge größe zahl anzahl menge grenze vorgabe regel anforderung
			bedingung budget kosten geld preis aufwand risiko umfang rahmen rand einzelheit form format stil ton sprache wort wörter begriff name titel text dokument seite datei person leute menschen leser publikum nutzer kunde team gruppe mitglied besitzer kollege
			fachmann chef öffentlichkeit beteiligte erfolg misserfolg güte qualität kriterium beleg beweis zeichen maß maßstab beispiel quelle material eingabe daten tatsache wissen erfahrung vorgeschichte hintergrund zusammenhang lage fall
			gut schlecht besser nützlich wichtig nötig möglich unmöglich genug klar sicher neu alt lang kurz groß klein spät früh hoch niedrig falsch richtig verschieden bestimmt erste letzte nächste zwei drei vier oft heute morgen vornherein höchstens mindestens zwingend`),
	},
}
