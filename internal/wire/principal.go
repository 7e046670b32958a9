package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Principal names the caller of a request, for whatever must belong to one
// caller only: a cursor, a kept result, a task. It is taken from the request's
// token (its user, else its "sub" claim), else from the session, and never
// from an argument. The prefixes keep the three name spaces apart.
//
// The result is "" for a caller without a name: standard input and output, or
// HTTP without sessions and without tokens, where all callers are one.
func Principal(req mcp.Request) string {
	if extra := req.GetExtra(); extra != nil {
		if user := User(extra.TokenInfo); user != "" {
			return user
		}
	}
	// A request made by hand has a session that is a nil pointer.
	if ss, ok := req.GetSession().(*mcp.ServerSession); ok && ss != nil {
		if id := ss.ID(); id != "" {
			return "session:" + id
		}
	}
	return ""
}

// User names the caller who has a token as [Principal] does: "" without one, or
// where it says nothing about whose it is.
func User(token *auth.TokenInfo) string {
	if token == nil {
		return ""
	}
	if token.UserID != "" {
		return "user:" + token.UserID
	}
	if sub, ok := token.Extra["sub"].(string); ok && sub != "" {
		return "user:" + sub
	}
	return ""
}

// Shown is how an event names a caller, given as [Principal] does or another that
// begins with the kind of its name. Whoever knows the id of a session is let into
// it, so that is shown as a fingerprint: the same for all events of a session. A
// name of more than 128 bytes is cut.
func Shown(caller string) string {
	for _, kind := range []string{"session:", "ses:"} {
		if id, ok := strings.CutPrefix(caller, kind); ok {
			sum := sha256.Sum256([]byte(id))
			return kind + hex.EncodeToString(sum[:6])
		}
	}
	return strings.ToValidUTF8(caller[:min(len(caller), 128)], "")
}
