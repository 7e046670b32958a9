package errors

import "strings"

// isProse reports whether a value without quotes reads as a word of the
// message ("bearer token expired", "password: required") and not as a secret.
func isProse(value string) bool {
	if len(value) < 4 {
		return true
	}
	if len(value) >= 20 {
		return false
	}
	for i := range len(value) {
		if c := value[i]; (c < 'a' || c > 'z') && c != '.' && c != ',' && (i > 0 || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// complaints begin what a validation says about a value in quotes.
var complaints = []string{
	"is ", "must ", "may ", "should ", "cannot ", "can't ", "can not ", "has ", "was ", "does ", "not ", "too ", "at least ", "no ",
	"required", "invalid", "missing", "expired", "incorrect", "wrong", "string", "optional", "unknown", "revoked",
}

func isComplaint(value string) bool {
	for _, c := range complaints {
		if len(value) >= len(c) && strings.EqualFold(value[:len(c)], c) && (c[len(c)-1] == ' ' || len(value) == len(c) || !isWord(value[len(c)])) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether value stands for a secret and is none.
func isPlaceholder(value string) bool {
	switch {
	case strings.Trim(value, "*") == "", strings.EqualFold(value, "[redacted]"), strings.EqualFold(value, "redacted"):
		return true
	case len(value) == 2 && value[0] == '%':
		return true
	case strings.HasPrefix(value, "${") && strings.IndexByte(value, '}') == len(value)-1:
		return true
	case len(value) > 2 && value[0] == '<' && value[len(value)-1] == '>':
		return strings.Trim(value[1:len(value)-1], "abcdefghijklmnopqrstuvwxyz_- ") == ""
	}
	return false
}

// isOpaque reports whether value looks like something that no one wrote by
// hand.
func isOpaque(value string) bool {
	return len(value) >= 8 && !strings.ContainsAny(value, " ()[]{}<>") &&
		strings.ContainsAny(value, "0123456789") && strings.ContainsAny(strings.ToLower(value[:min(len(value), 64)]), "abcdefghijklmnopqrstuvwxyz")
}

// plainWords are values of a key that only says whether there is a secret.
var plainWords = []string{"null", "true", "false", "nil", "none", "undefined", "yes", "no", "<nil>"}

// plainValue returns the length of the word or number at pos that is no
// secret, and 0 if there is none. In JSON every number is none.
func plainValue(text string, pos int, numbers bool) int {
	end := pos
	for end < len(text) && (isWord(text[end]) || text[end] == '<' && end == pos || text[end] == '>' || text[end] == '.' || text[end] == '+') {
		end++
	}
	value := strings.TrimRight(text[pos:end], ".")
	if value != "" && (len(value) < 4 || numbers) && strings.Trim(value, "0123456789.-+eE") == "" && value[0] <= '9' {
		return len(value)
	}
	if len(value) <= len("undefined") {
		for _, w := range plainWords {
			if strings.EqualFold(value, w) {
				return len(value)
			}
		}
	}
	return 0
}
