package foreign

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
)

// latin are the names of the glyphs of U+00A0 to U+00FF.
const latin = `space exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft
logicalnot hyphen registered macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla
onesuperior ordmasculine guillemotright onequarter onehalf threequarters questiondown Agrave Aacute Acircumflex Atilde
Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex Idieresis Eth Ntilde Ograve
Oacute Ocircumflex Otilde Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls agrave
aacute acircumflex atilde adieresis aring ae ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex
idieresis eth ntilde ograve oacute ocircumflex otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute
thorn ydieresis`

// glyphs are further names, each before its text.
const glyphs = `exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright )
asterisk * plus + comma , hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7
eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ]
asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~ quoteleft ‘ quoteright ’
quotedblleft “ quotedblright ” quotesinglbase ‚ quotedblbase „ dagger † daggerdbl ‡ bullet • ellipsis … perthousand ‰
guilsinglleft ‹ guilsinglright › endash – emdash — fraction ⁄ florin ƒ Euro € trademark ™ fi fi fl fl ff ff ffi ffi
ffl ffl dotlessi ı dotlessj ȷ Lslash Ł lslash ł OE Œ oe œ Scaron Š scaron š Zcaron Ž zcaron ž Ydieresis Ÿ circumflex ˆ
tilde ˜ breve ˘ dotaccent ˙ ring ˚ hungarumlaut ˝ ogonek ˛ caron ˇ Abreve Ă abreve ă Aogonek Ą aogonek ą Cacute Ć
cacute ć Ccaron Č ccaron č Dcaron Ď dcaron ď Dcroat Đ dcroat đ Ecaron Ě ecaron ě Eogonek Ę eogonek ę Gbreve Ğ gbreve ğ
Idotaccent İ Lcaron Ľ lcaron ľ Nacute Ń nacute ń Ncaron Ň ncaron ň Ohungarumlaut Ő ohungarumlaut ő Rcaron Ř rcaron ř
Sacute Ś sacute ś Scedilla Ş scedilla ş Tcaron Ť tcaron ť Uhungarumlaut Ű uhungarumlaut ű Uring Ů uring ů Zacute Ź
zacute ź Zdotaccent Ż zdotaccent ż alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ
lambda λ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ
Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω lessequal ≤ greaterequal ≥ notequal ≠ infinity ∞ summation ∑ product ∏ radical √
integral ∫ partialdiff ∂ approxequal ≈ arrowright → arrowleft ← arrowup ↑ arrowdown ↓ element ∈ asteriskmath ∗
sfthyphen - middot · checkmark ✓ a20 ✔ filledbox ■ H18543 ▪ openbullet ◦ lozenge ◊`

// standard are the characters of StandardEncoding from 0xA1 to 0xFB, a blank where it has none.
const standard = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß"

var glyphNames = lazy.Value(func() map[string]string {
	names := map[string]string{}
	for i, name := range strings.Fields(latin) {
		names[name] = string(rune(0xA0 + i))
	}
	list := strings.Fields(glyphs)
	for i := 0; i+1 < len(list); i += 2 {
		names[list[i]] = list[i+1]
	}
	names["space"], names["nbspace"] = " ", " "
	return names
})

// glyphText is what a glyph says by its name; "" where the name does not tell.
func glyphText(name string) string {
	name, _, _ = strings.Cut(name, ".") // of forms, such as small capitals
	if text := glyphNames()[name]; text != "" {
		return text
	}
	if len(name) == 1 {
		return name
	}
	for _, prefix := range []string{"uni", "u"} {
		digits, found := strings.CutPrefix(name, prefix)
		if n, err := strconv.ParseUint(digits, 16, 21); found && err == nil && len(digits) >= 4 && utf8.ValidRune(rune(n)) {
			return string(rune(n))
		}
	}
	return ""
}
