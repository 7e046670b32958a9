package stdioguard

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxInteger is the largest integer that a float64 and its neighbours can tell
// apart. The SDK makes numeric ids of float64s, so a larger one would be
// answered under another id than its own.
const maxInteger = 1<<53 - 1

// A rejection says why a message was not passed on.
type rejection struct {
	code   int64
	reason string
	// id is the raw text of the id to answer under, nil if there is none.
	id []byte
	// response says that the message is an answer of the peer's, or would be
	// if it were well formed. An answer is never answered.
	response bool
}

// decodeMessage decodes one JSON-RPC message (JSON-RPC 2.0, sections 4 and 5;
// MCP, "Base protocol, Messages"). Exactly one of its results is non-nil.
//
// The message keeps no part of b.
func decodeMessage(b []byte) (jsonrpc.Message, *rejection) {
	var e envelope
	if err := scanMembers(b, e.member); err != nil {
		return nil, reject(b, err)
	}
	invalid := func(reason string) (jsonrpc.Message, *rejection) {
		r := &rejection{code: jsonrpc.CodeInvalidRequest, reason: reason, response: e.isResponse()}
		if len(e.id) <= maxID && isRawID(e.id) {
			r.id = bytes.Clone(e.id)
		}
		return nil, r
	}
	switch {
	case e.repeated == "id":
		e.id = nil // it could be either
		return invalid(`"id" occurs twice`)
	case e.repeated != "":
		return invalid(strconv.Quote(e.repeated) + " occurs twice")
	case string(e.version) != `"2.0"` && text(e.version) != "2.0":
		return invalid(`"jsonrpc" is not "2.0"`)
	}
	id, problem := decodeID(e.id)
	if problem != "" {
		return invalid(problem)
	}
	if e.isResponse() {
		if !id.IsValid() {
			return invalid(`a response without an "id"`)
		}
		return decodeResponse(id, &e), nil
	}
	if e.method == nil {
		return invalid(`no "method"`)
	}
	if e.method[0] != '"' {
		return invalid(`"method" is not a string`)
	}
	return &jsonrpc.Request{ID: id, Method: text(e.method), Params: bytes.Clone(e.params)}, nil
}

// reject makes the rejection of a line that is not valid: a syntax error, as
// far as its id can be recovered.
func reject(b []byte, err error) *rejection {
	var s idSniffer
	s.feed(b)
	code := int64(jsonrpc.CodeParseError)
	if err == errDepth {
		code = jsonrpc.CodeInvalidRequest // it is JSON, and we do not want it
	} else if scanLine(b) == nil {
		// JSON, but not an object.
		code, err = jsonrpc.CodeInvalidRequest, errNotObject
	}
	return s.rejection(code, err.Error())
}

// rejection makes a rejection out of what was sniffed.
func (s *idSniffer) rejection(code int64, reason string) *rejection {
	return &rejection{
		code:     code,
		reason:   reason,
		id:       s.found(),
		response: s.response && !s.method,
	}
}

// An envelope is the raw members of a JSON-RPC message. Others are ignored.
type envelope struct {
	version, id, method, params, result, err []byte
	// repeated is a name that occurred twice, if any did.
	repeated string
}

func (e *envelope) member(name, value []byte) {
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(unescape(name))
	}
	var field *[]byte
	switch string(name) {
	case "jsonrpc":
		field = &e.version
	case "id":
		field = &e.id
	case "method":
		field = &e.method
	case "params":
		field = &e.params
	case "result":
		field = &e.result
	case "error":
		field = &e.err
	default:
		return
	}
	if *field != nil && e.repeated != "id" {
		e.repeated = string(name)
	}
	*field = value
}

func (e *envelope) isResponse() bool {
	return e.method == nil && (e.result != nil || e.err != nil)
}

// decodeResponse never fails: an error object of the wrong shape becomes an
// error that says so, because somebody waits for this response.
func decodeResponse(id jsonrpc.ID, e *envelope) *jsonrpc.Response {
	r := &jsonrpc.Response{ID: id}
	if e.err == nil || string(e.err) == "null" {
		r.Result = bytes.Clone(e.result)
		return r
	}
	var wire jsonrpc.Error
	if err := json.Unmarshal(e.err, &wire); err != nil {
		wire = jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the peer answered with a malformed error"}
	}
	r.Error = &wire
	return r
}

// decodeID returns the id whose raw text is b, or what is wrong with it. No
// text is no id: the zero value.
func decodeID(b []byte) (_ jsonrpc.ID, problem string) {
	if b == nil {
		return jsonrpc.ID{}, ""
	}
	var value any
	switch c := b[0]; {
	case len(b) > maxID:
		return jsonrpc.ID{}, `"id" is too long`
	case c == '"':
		value = text(b)
	case c == '-' || '0' <= c && c <= '9':
		f, err := strconv.ParseFloat(string(b), 64)
		switch {
		case err == nil && f == 0 && !isZero(b), err == nil && f != math.Trunc(f):
			return jsonrpc.ID{}, `"id" is not an integer`
		case err != nil || math.Abs(f) > maxInteger:
			return jsonrpc.ID{}, `"id" is beyond 2^53 and cannot be told from its neighbours`
		}
		value = f
	default:
		return jsonrpc.ID{}, `"id" is neither a string nor an integer`
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil {
		return jsonrpc.ID{}, err.Error()
	}
	return id, ""
}

// isZero reports whether the JSON number b is zero and not a fraction that is
// too small for a float64.
func isZero(b []byte) bool {
	mantissa, _, _ := bytes.Cut(bytes.ToLower(b), []byte("e"))
	return !bytes.ContainsAny(mantissa, "123456789")
}

// text returns the value of the JSON string b, "" if it is none. Escapes of
// half a surrogate pair become U+FFFD.
func text(b []byte) string {
	if len(b) < 2 || b[0] != '"' {
		return ""
	}
	inner := b[1 : len(b)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return unescape(inner)
}

func unescape(inner []byte) string {
	var s string
	quoted := append(append(append(make([]byte, 0, len(inner)+2), '"'), inner...), '"')
	if json.Unmarshal(quoted, &s) != nil {
		return ""
	}
	return s
}
