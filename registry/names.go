package registry

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest names, in bytes.
const (
	maxCommonName = 64  // Claude, OpenAI and VS Code refuse more; see profiles.go
	maxSpecName   = 128 // SEP-986
	maxOtherName  = 256 // an alias that is longer is never looked up
)

// checkName says why clients would refuse a tool's name.
func checkName(name string, spec bool) error {
	limit := maxCommonName
	if spec {
		limit = maxSpecName
	}
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > limit:
		return fmt.Errorf("the name is %d bytes long; %d is the most", len(name), limit)
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', spec && r == '.':
		default:
			return fmt.Errorf("the name contains %q; letters, digits, _ and - are what every client takes", r)
		}
	}
	if c := name[0]; !spec && (c >= '0' && c <= '9' || c == '-') {
		return fmt.Errorf("the name begins with %q; some clients want a letter or _", c)
	}
	return nil
}

// checkOtherName says what is wrong with an alias or a former name. Those may
// be anything that a caller might send.
func checkOtherName(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > maxOtherName:
		return fmt.Errorf("it is %d bytes long; %d is the most", len(name), maxOtherName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("it contains what is not text")
	}
	return nil
}

// fold maps names that people, models and clients confuse to one: case and
// separators are dropped.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ', '/', ':':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
