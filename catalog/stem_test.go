package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		// Plurals and verb forms meet.
		"filings": "file", "filed": "file", "file": "file", "files": "file",
		"companies": "compani", "company": "compani", "cried": "cri", "ties": "tie",
		"prices": "price", "pricing": "price", "running": "run", "hopping": "hop", "hoping": "hope",
		"agreed": "agre", "agreement": "agreement", "conflated": "conflat", "sized": "size", "troubled": "troubl",
		// Steps two to five.
		"relational": "relat", "conditional": "condit", "rationality": "ration", "digitizer": "digit",
		"operator": "oper", "feudalism": "feudal", "hopefulness": "hope", "sensitivity": "sensit",
		"electrical": "electr", "goodness": "good", "replacement": "replac", "adjustment": "adjust",
		"adoption": "adopt", "probate": "probat", "rate": "rate", "controlling": "control", "analogy": "analog",
		"boldly": "bold", "demonstrative": "demonstr", "communicated": "communic", "generally": "general",
		// Exceptions.
		"news": "news", "skies": "sky", "dying": "die", "proceeds": "proceed", "early": "earli",
		"yes": "yes", "youth": "youth", "say": "say", "by": "by", "bus": "bus", "gas": "gas",
		// Left alone: short, not English letters, numbered.
		"ai": "ai", "10-ks": "10-ks", "h1bs": "h1bs", "münzen": "münzen",
	} {
		require.Equal(t, want, Stem(word), word)
	}
}

func FuzzStem(f *testing.F) {
	for _, s := range []string{"filings", "yyyy", "eed", "ingly", "sses", "ied", "aational", "10k", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if s := Stem(word); len(s) > len(word)+1 {
			t.Fatalf("Stem(%q) = %q", word, s)
		}
	})
}
