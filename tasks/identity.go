package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

const (
	// keyArgument and metaKey are where a caller may put an idempotency key.
	keyArgument = "idempotency_key"
	metaKey     = "steady/idempotencyKey"

	maxKey     = 512 // bytes of a key or an identity
	maxHeldKey = 64  // bytes of a key as it is kept; of a longer one, its digest is
)

// A callID says which call a call is. The request's JSON-RPC id is no part of
// it: clients start counting anew with each session.
type callID struct {
	key      string
	identity string
	hash     string // of the arguments, without the key
	byWindow bool   // identity is the default one, which ends with the window
}

// identify returns the identity of a call under a policy. Its errors are for
// the caller.
func identify(p *Policy, params *mcp.CallToolParamsRaw) (id callID, err error) {
	plain, key := splitKey(params.Arguments)
	if key == "" {
		key, _ = params.Meta[metaKey].(string)
	}
	if len(key) > maxKey {
		return id, errors.Invalid("the idempotency key has %d bytes", len(key)).
			Because("at most %d are allowed", maxKey)
	}
	if len(key) > maxHeldKey {
		key = "hash:" + hash([]byte(key))
	}
	id.key = key
	id.hash = hash(plain)
	if p.Identity != nil {
		if id.identity, err = callIdentity(p.Identity, params.Arguments); err != nil {
			return id, err
		}
		if len(id.identity) > maxKey {
			id.identity = hash([]byte(id.identity))
		}
	}
	if id.identity == "" && p.Window > 0 {
		// The answers are part of what a call means: the same arguments with
		// another answer are another call.
		id.identity = "arguments:" + hash(plain, responsesOf(params), []byte(params.RequestState))
		id.byWindow = true
	}
	return id, nil
}

// callIdentity calls a policy's function, which sees arguments that no schema
// has checked. If it panics, nobody knows whether the call was made before, so
// the call is refused.
func callIdentity(identity func(json.RawMessage) string, arguments json.RawMessage) (id string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("tasks: Policy.Identity panicked: %v", v)
		}
	}()
	if id = identity(arguments); id != "" {
		id = "policy:" + id
	}
	return id, nil
}

// splitKey returns the canonical form of arguments without the idempotency
// key, and the key, "" if there is none.
func splitKey(arguments json.RawMessage) (plain []byte, key string) {
	if len(arguments) == 0 {
		return []byte("{}"), ""
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber() // integers above 2^53 stay apart
	var v any
	if dec.Decode(&v) != nil {
		return arguments, ""
	}
	switch v := v.(type) {
	case nil:
		return []byte("{}"), ""
	case map[string]any:
		if k, ok := v[keyArgument].(string); ok {
			key = k
			delete(v, keyArgument)
		}
	}
	plain, err := json.Marshal(v) // sorts the members
	if err != nil {
		return arguments, key
	}
	return plain, key
}

func responsesOf(params *mcp.CallToolParamsRaw) json.RawMessage {
	if len(params.InputResponses) == 0 {
		return nil
	}
	b, err := json.Marshal(params.InputResponses)
	if err != nil {
		return nil
	}
	return b
}

// hash returns a digest of parts that no other list of parts has.
func hash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
