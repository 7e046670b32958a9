package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Bounds on what is kept of schemas.
const (
	maxHeaderTools    = 4096
	maxHeadersPerTool = 64
	maxSchemaDepth    = 16
)

// paramHeaders knows which arguments of which tools the server wants to see in
// headers as well: the annotation x-mcp-header in a tool's input schema, as
// SEP-2243 of revision 2026-07-28 has it. It learns that from listings.
type paramHeaders struct {
	mu    sync.Mutex
	tools map[string][]paramHeader
}

// A paramHeader is one argument and its header.
type paramHeader struct {
	path   []string
	header string
}

// learn notes what a result of tools/list says.
func (h *paramHeaders) learn(result []byte) {
	tools := member(result, "tools")
	if len(tools) == 0 || tools[0] != '[' {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.tools) == 0 && !bytes.Contains(tools, []byte("x-mcp-header")) {
		return
	}
	elements(tools, func(tool []byte) {
		name := textOf(member(tool, "name"))
		delete(h.tools, name)
		found := collect(nil, member(member(tool, "inputSchema"), "properties"), nil)
		if len(found) == 0 || len(h.tools) >= maxHeaderTools {
			return
		}
		if h.tools == nil {
			h.tools = map[string][]paramHeader{}
		}
		h.tools[name] = found
	})
}

// collect finds the annotations in the properties of a schema.
func collect(found []paramHeader, properties []byte, path []string) []paramHeader {
	if len(path) >= maxSchemaDepth {
		return found
	}
	members(properties, func(key, schema []byte) {
		at := append(path[:len(path):len(path)], string(key))
		if header := textOf(member(schema, "x-mcp-header")); isToken(header) && len(found) < maxHeadersPerTool {
			found = append(found, paramHeader{at, "Mcp-Param-" + header})
		}
		if inner := member(schema, "properties"); inner != nil {
			found = collect(found, inner, at)
		}
	})
	return found
}

// set sets the headers of a call.
func (h *paramHeaders) set(header http.Header, params []byte) {
	for _, p := range h.of(params) {
		if value, ok := p.value(params); ok {
			header.Set(p.header, headerText(value))
		}
	}
}

// mismatch returns what is wrong with the headers of a call, if anything.
func (h *paramHeaders) mismatch(header http.Header, params []byte) string {
	for _, p := range h.of(params) {
		want, ok := p.value(params)
		given, present := "", len(header.Values(p.header)) > 0
		if present {
			given = header.Get(p.header)
		}
		switch {
		case !ok && present:
			return fmt.Sprintf("the header %s is there, and the argument %q is not", p.header, strings.Join(p.path, "."))
		case ok && !present:
			return fmt.Sprintf("the header %s is missing for the argument %q", p.header, strings.Join(p.path, "."))
		case ok && !sameHeader(given, want):
			return fmt.Sprintf("the header %s is %.100q, which is not the argument %q", p.header, given, strings.Join(p.path, "."))
		}
	}
	return ""
}

// sameHeader reports whether a header says what an argument does, in whichever
// form of the same.
func sameHeader(given, want string) bool {
	if inner, ok := strings.CutPrefix(given, "=?base64?"); ok {
		if inner, ok = strings.CutSuffix(inner, "?="); ok {
			text, err := base64.StdEncoding.DecodeString(inner)
			return err == nil && string(text) == want
		}
	}
	if given == want {
		return true
	}
	a, errA := strconv.ParseFloat(given, 64)
	b, errB := strconv.ParseFloat(want, 64)
	return errA == nil && errB == nil && a == b
}

// of returns the headers that a call has.
func (h *paramHeaders) of(params []byte) []paramHeader {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.tools) == 0 {
		return nil
	}
	return h.tools[textOf(member(params, "name"))]
}

// value returns the argument of a call as text, or reports that there is none
// that has a header.
func (p paramHeader) value(params []byte) (string, bool) {
	value := member(params, "arguments")
	for _, name := range p.path {
		value = member(value, name)
	}
	switch {
	case len(value) == 0 || string(value) == "null":
		return "", false
	case value[0] == '"':
		var s string
		return s, json.Unmarshal(value, &s) == nil
	case string(value) == "true" || string(value) == "false":
		return string(value), true
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != float64(int64(n)) {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}

// isToken reports whether s may be part of a header's name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
