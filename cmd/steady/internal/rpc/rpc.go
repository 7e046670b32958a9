// Package rpc has what the stages of the proxy say themselves, in JSON-RPC.
package rpc

import (
	"bytes"
	"encoding/json"
)

// Codes of errors.
const (
	Parse       = -32700
	Invalid     = -32600
	NoMethod    = -32601
	Params      = -32602
	Internal    = -32603
	Unavailable = -32000 // JSON-RPC leaves this to servers, and MCP has none for it
)

// Stateless is the first revision without a handshake, and without sessions.
const Stateless = "2026-07-28"

// Refusal is an error response. A nil id stands for null.
func Refusal(id []byte, code int, text string) []byte { return RefusalWith(id, code, text, nil) }

// RefusalWith is a Refusal with data, unless that is nil.
func RefusalWith(id []byte, code int, text string, data any) []byte {
	if id == nil {
		id = []byte("null")
	}
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	line, err := Encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, text, data}})
	if err != nil { // of data, since id is a part of valid JSON
		return Refusal(nil, code, text)
	}
	return line
}

// Encode is encoding/json without escapes that nobody asked for.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Quote returns text as JSON.
func Quote(text string) []byte {
	quoted, _ := Encode(text) // a string has a form in JSON, whatever is in it
	return quoted
}
