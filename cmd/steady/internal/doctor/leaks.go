package doctor

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/steadymcp/steady/errors"
)

// What errors show that they should not. The texts are a server's, so each
// pattern is linear in them, as all of package regexp's are.
var (
	stackTrace = regexp.MustCompile(`goroutine \d+ \[|\.go:\d+ \+0x|Traceback \(most recent call last\)|(?m)^\s+at .+\(?[\w/\\.:-]+:\d+(:\d+)?\)?$|^\s+File ".+", line \d+|panicked at [\w/.]+:\d+|(?m)^\s*at [\w.$]+\([\w]+\.(java|kt|scala):\d+\)`)
	sqlText    = regexp.MustCompile(`\bSELECT\s+[\w*,."\s]+\s+FROM\s+\w|(?i)\bselect\s+(?:\*|\w+\s*,[\w*,."\s]+)\s+from\s+\w|\binsert\s+into\s+\w+\s*\(|\bupdate\s+\w+\s+set\s+\w+\s*=|\bdelete\s+from\s+\w+\s+where|SQLSTATE|SQLITE_[A-Z]+|\bpq: |\bORA-\d{5}|syntax error at or near|error in your SQL syntax|no such (table|column): |relation "\w+" does not exist|sql: no rows|duplicate key value violates`)
	pathText   = regexp.MustCompile(`(?:^|[\s"'(=:\[])((?:/(?:home|usr|var|etc|opt|srv|root|Users|app|tmp|private|mnt|workspace)/|[A-Za-z]:\\{1,2}(?:Users|Program|Windows)\b)[^\s"')\],:]*)`)
	hostText   = regexp.MustCompile(`\bdial (?:tcp|udp|unix)\b|\bECONNREFUSED\b|getaddrinfo \w+|\b\d{1,3}(?:\.\d{1,3}){3}:\d{2,5}\b|\b[\w-]+(?:\.[\w-]+)*\.(?:internal|svc|corp|lan|intranet)\b`)
	innerText  = regexp.MustCompile(`runtime error: |nil pointer dereference|Cannot read propert(?:y|ies) |is not a function\b|is not iterable\b|NullPointerException|\bjava\.lang\.|(?:Type|Key|Attribute|Value|Index|Reference|Range)Error\b|'NoneType' object|cannot unmarshal \w+ into Go |invalid character '.' (?:looking|after|in)|unexpected end of JSON input|json: |index out of range|Unexpected token .* in JSON|reflect: `)
)

// checkLeaks looks at the text of a failure. What the caller had sent is no
// leak.
func (e *exam) checkLeaks(subject string, v *verdict) {
	text := v.text
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	for _, sent := range e.sentTexts(v) {
		text = strings.ReplaceAll(text, sent, " ")
	}
	// What was found, from the word before it on.
	show := func(at []int) string {
		from := strings.LastIndexAny(text[:at[0]], " \n\"") + 1
		if at[0]-from > 40 {
			from = at[0]
		}
		return clip(text[from:min(at[1]+60, len(text))], 140)
	}
	if at := stackTrace.FindStringIndex(text); at != nil {
		e.found("leak-stack", subject, v.reply, "%s", show(at))
	}
	if at := sqlText.FindStringIndex(text); at != nil {
		e.found("leak-sql", subject, v.reply, "%s", show(at))
	}
	if masked := errors.Mask(text); masked != text {
		e.found("leak-credential", subject, v.reply, "%s", clip(masked, 140))
	}
	if m := pathText.FindStringSubmatch(text); m != nil && !e.namedByUs(m[1]) {
		e.found("leak-path", subject, v.reply, "%s", clip(m[1], 140))
	}
	if at := hostText.FindStringIndex(text); at != nil {
		e.found("leak-host", subject, v.reply, "%s", show(at))
	}
	if at := innerText.FindStringIndex(text); at != nil {
		e.found("leak-internals", subject, v.reply, "%s", show(at))
	}
}

// sentTexts returns the texts that the request held, longest first, as an answer
// may repeat them.
func (e *exam) sentTexts(v *verdict) (out []string) {
	var request struct {
		Params struct {
			Name      string `json:"name"`
			URI       string `json:"uri"`
			Arguments any    `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(v.reply.Request, &request)
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 8 || len(out) > 100 {
			return
		}
		switch v := v.(type) {
		case string:
			if len(v) >= 4 && len(v) < 4096 {
				out = append(out, v)
				if quoted, err := json.Marshal(v); err == nil {
					out = append(out, string(quoted[1:len(quoted)-1]))
				}
			}
		case []any:
			for _, x := range v {
				walk(x, depth+1)
			}
		case map[string]any:
			for _, x := range v {
				walk(x, depth+1)
			}
		}
	}
	walk(request.Params.Arguments, 0)
	walk(request.Params.Name, 0)
	walk(request.Params.URI, 0)
	return out
}

// namedByUs reports whether a path is no news: it was on the command line, or
// the server's own results name it or what it is in.
func (e *exam) namedByUs(path string) bool {
	for _, arg := range e.opts.Target.Command {
		if len(arg) > 1 && strings.HasPrefix(arg, "/") && strings.HasPrefix(path, strings.TrimSuffix(arg, "/")) {
			return true
		}
	}
	for _, known := range e.harvest.paths {
		if strings.HasPrefix(path, known) {
			return true
		}
	}
	return strings.HasPrefix(path, "/etc/passwd") // which we ask for
}
