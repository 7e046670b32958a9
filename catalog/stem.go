package catalog

import "strings"

// Stem returns the form under which the index keeps a word, so that "filings"
// and "filed" meet: English plural and verb endings are taken off by the
// Porter2 algorithm. The word must be in lower case. A word with a digit or
// with a character outside a-z is returned as it is: it identifies something.
//
// An [Expander] that is not a [Vocabulary] needs it for its targets.
func Stem(word string) string {
	if len(word) < 3 || len(word) > maxWordBytes {
		return word
	}
	for i := 0; i < len(word); i++ {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	if s, ok := stemExceptions[word]; ok {
		return s
	}
	s := stemmer{b: []byte(word)}
	s.markConsonantY()
	s.regions()
	s.step1a()
	if stemInvariants[string(s.b)] {
		return strings.ToLower(string(s.b))
	}
	s.step1b()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	return strings.ToLower(string(s.b))
}

// stemExceptions are the words that the rules would conflate with others, or
// tear apart.
var stemExceptions = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

// stemInvariants end the work after the plural is gone.
var stemInvariants = map[string]bool{
	"inning": true, "outing": true, "canning": true, "herring": true, "earring": true,
	"proceed": true, "exceed": true, "succeed": true,
}

// A stemmer holds a word while its endings come off. A y that is a consonant
// is written Y meanwhile.
type stemmer struct {
	b      []byte
	r1, r2 int // where the regions start in which an ending may be taken off
}

func vowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func (s *stemmer) markConsonantY() {
	for i, c := range s.b {
		if c == 'y' && (i == 0 || vowel(s.b[i-1])) {
			s.b[i] = 'Y'
		}
	}
}

// regions sets r1 to what follows the first consonant after a vowel, and r2 to
// the same within r1.
func (s *stemmer) regions() {
	s.r1 = -1
	for _, p := range []string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(string(s.b), p) {
			s.r1 = len(p)
		}
	}
	if s.r1 < 0 {
		s.r1 = s.afterVowelConsonant(0)
	}
	s.r2 = s.afterVowelConsonant(s.r1)
}

func (s *stemmer) afterVowelConsonant(from int) int {
	for i := from + 1; i < len(s.b); i++ {
		if vowel(s.b[i-1]) && !vowel(s.b[i]) {
			return i + 1
		}
	}
	return len(s.b)
}

func (s *stemmer) ends(suffix string) bool {
	n := len(s.b) - len(suffix)
	return n >= 0 && string(s.b[n:]) == suffix
}

// longest returns the first of suffixes, which are ordered by falling length,
// that the word ends in.
func (s *stemmer) longest(suffixes []string) string {
	for _, x := range suffixes {
		if s.ends(x) {
			return x
		}
	}
	return ""
}

func (s *stemmer) cut(n int)             { s.b = s.b[:len(s.b)-n] }
func (s *stemmer) swap(n int, by string) { s.b = append(s.b[:len(s.b)-n], by...) }
func (s *stemmer) inR1(n int) bool       { return len(s.b)-n >= s.r1 }
func (s *stemmer) inR2(n int) bool       { return len(s.b)-n >= s.r2 }

func (s *stemmer) hasVowel(end int) bool {
	for _, c := range s.b[:end] {
		if vowel(c) {
			return true
		}
	}
	return false
}

// shortSyllable reports whether b[:end] ends in a short syllable.
func (s *stemmer) shortSyllable(end int) bool {
	if end == 2 {
		return vowel(s.b[0]) && !vowel(s.b[1])
	}
	if end < 3 || vowel(s.b[end-3]) || !vowel(s.b[end-2]) || vowel(s.b[end-1]) {
		return false
	}
	switch s.b[end-1] {
	case 'w', 'x', 'Y':
		return false
	}
	return true
}

func (s *stemmer) step1a() {
	switch {
	case s.ends("sses"):
		s.cut(2)
	case s.ends("ied"), s.ends("ies"):
		if len(s.b) > 4 {
			s.cut(2)
		} else {
			s.cut(1)
		}
	case s.ends("us"), s.ends("ss"):
	case s.ends("s"):
		if len(s.b) >= 3 && s.hasVowel(len(s.b)-2) {
			s.cut(1)
		}
	}
}

func (s *stemmer) step1b() {
	switch x := s.longest([]string{"eedly", "ingly", "edly", "eed", "ing", "ed"}); x {
	case "":
	case "eed", "eedly":
		if s.inR1(len(x)) {
			s.swap(len(x), "ee")
		}
	default:
		if !s.hasVowel(len(s.b) - len(x)) {
			return
		}
		s.cut(len(x))
		switch {
		case s.ends("at"), s.ends("bl"), s.ends("iz"):
			s.b = append(s.b, 'e')
		case s.doubled():
			s.cut(1)
		case s.r1 >= len(s.b) && s.shortSyllable(len(s.b)):
			s.b = append(s.b, 'e')
		}
	}
}

func (s *stemmer) doubled() bool {
	n := len(s.b)
	if n < 2 || s.b[n-1] != s.b[n-2] {
		return false
	}
	switch s.b[n-1] {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return true
	}
	return false
}

func (s *stemmer) step1c() {
	n := len(s.b)
	if n > 2 && (s.b[n-1] == 'y' || s.b[n-1] == 'Y') && !vowel(s.b[n-2]) {
		s.b[n-1] = 'i'
	}
}

var (
	step2Order = []string{
		"ization", "ational", "fulness", "ousness", "iveness", "tional", "biliti", "lessli",
		"entli", "ation", "alism", "aliti", "ousli", "iviti", "fulli",
		"enci", "anci", "abli", "izer", "ator", "alli", "bli", "ogi", "li",
	}
	step2 = map[string]string{
		"ization": "ize", "ational": "ate", "fulness": "ful", "ousness": "ous", "iveness": "ive",
		"tional": "tion", "biliti": "ble", "lessli": "less", "entli": "ent", "ation": "ate",
		"alism": "al", "aliti": "al", "ousli": "ous", "iviti": "ive", "fulli": "ful",
		"enci": "ence", "anci": "ance", "abli": "able", "izer": "ize", "ator": "ate", "alli": "al", "bli": "ble",
	}
	step3Order = []string{"ational", "tional", "alize", "icate", "iciti", "ative", "ical", "ness", "ful"}
	step3      = map[string]string{
		"ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ness": "", "ful": "",
	}
	step4Order = []string{
		"ement", "ance", "ence", "able", "ible", "ment",
		"ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "al", "er", "ic",
	}
)

func (s *stemmer) step2() {
	x := s.longest(step2Order)
	if x == "" || !s.inR1(len(x)) {
		return
	}
	before := byte(0)
	if n := len(s.b) - len(x); n > 0 {
		before = s.b[n-1]
	}
	switch x {
	case "ogi":
		if before == 'l' {
			s.swap(3, "og")
		}
	case "li":
		if strings.IndexByte("cdeghkmnrt", before) >= 0 {
			s.cut(2)
		}
	default:
		s.swap(len(x), step2[x])
	}
}

func (s *stemmer) step3() {
	x := s.longest(step3Order)
	if x == "" || !s.inR1(len(x)) {
		return
	}
	if x == "ative" {
		if s.inR2(len(x)) {
			s.cut(len(x))
		}
		return
	}
	s.swap(len(x), step3[x])
}

func (s *stemmer) step4() {
	x := s.longest(step4Order)
	if x == "" || !s.inR2(len(x)) {
		return
	}
	if x == "ion" {
		if n := len(s.b) - 3; n == 0 || s.b[n-1] != 's' && s.b[n-1] != 't' {
			return
		}
	}
	s.cut(len(x))
}

func (s *stemmer) step5() {
	n := len(s.b)
	switch {
	case s.ends("e"):
		if s.inR2(1) || s.inR1(1) && !s.shortSyllable(n-1) {
			s.cut(1)
		}
	case s.ends("l"):
		if s.inR2(1) && n > 1 && s.b[n-2] == 'l' {
			s.cut(1)
		}
	}
}
