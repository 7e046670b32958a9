package fleet

import (
	"bytes"
	"strconv"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// codeRevision is of the basic protocol of 2026-07-28, "unsupported protocol
// version".
const codeRevision = -32022

// Keys in _meta.
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaServers      = "steady/servers"
	progressToken    = "progressToken"
)

// A message is a line and what has to be known of it to send it where it belongs.
// All fields are parts of raw.
type message struct {
	raw    []byte
	id     []byte // nil if there is none
	method string // "" for a response
	params []byte
	result []byte
	failed []byte // the error of a response
}

func (m *message) isRequest() bool { return m.method != "" && m.id != nil }

// meta returns a member of the parameters' _meta, or nil.
func (m *message) meta(key string) []byte { return jsonl.Member(jsonl.Member(m.params, "_meta"), key) }

// modern reports whether the message says itself which revision it is of, and that
// this is one without a handshake.
func (m *message) modern() bool {
	revision, _ := jsonl.Text(orNull(m.meta(metaRevision)))
	return revision >= rpc.Stateless
}

// code returns the code of an error response, or 0.
func (m *message) code() int64 {
	code, _ := toNumber(orNull(jsonl.Member(m.failed, "code")))
	return code
}

// parse reads valid JSON. It returns why it is no message, or "". A member that
// is there twice has two meanings, of which the server might not see ours.
func parse(line []byte) (m message, why string) {
	m.raw = line
	seen := map[string]bool{}
	version, method := false, true
	jsonl.Members(line, func(key, value []byte) {
		if seen[string(key)] {
			why = "the member " + strconv.Quote(string(key)) + " is there twice"
		}
		switch string(key) {
		case "jsonrpc":
			version = string(value) == `"2.0"`
		case "id":
			m.id = value
		case "method":
			m.method, method = jsonl.Text(value)
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failed = value
		default:
			return
		}
		seen[string(key)] = true
	})
	switch {
	case len(line) > 0 && bytes.TrimLeft(line, " \t")[0] == '[':
		why = "a batch of messages is not supported: send them one by one"
	case why != "":
	case !version || !method:
		why = "it is no JSON-RPC message"
	case m.id != nil && !jsonl.IsID(m.id) && string(m.id) != "null":
		m.id, why = nil, "its id is neither a string nor a number"
	case m.method == "" && m.result == nil && m.failed == nil:
		why = "it has neither a method nor a result nor an error"
	}
	return m, why
}

// result is a response with a result, which is valid JSON.
func result(id, value []byte) []byte {
	return append(append(append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...), value...), '}')
}

func notification(method string, params []byte) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","method":`), rpc.Quote(method)...)
	if params != nil {
		out = append(append(out, `,"params":`...), params...)
	}
	return append(out, '}')
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// toNumber returns the number that a JSON value is, if it is one of ours.
func toNumber(value []byte) (int64, bool) {
	n, err := strconv.ParseInt(jsonl.IDKey(value), 10, 64)
	return n, err == nil && value[0] != '"'
}
