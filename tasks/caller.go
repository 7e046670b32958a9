package tasks

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// How a caller can follow a task, in Caller.Follows.
const (
	followsTools     = "tools"
	followsExtension = "extension"
)

const headerAuthorization = "Authorization"

// callerOf returns what a record of the task keeps of a request.
func (m *Manager) callerOf(r *run, task, owner string) Caller {
	c := Caller{}
	switch r.surface {
	case surfaceTools:
		c.Follows = followsTools
	case surfaceExtension:
		c.Follows = followsExtension
	}
	if caps := clientCapabilities(r.req); caps != nil {
		if raw, err := json.Marshal(caps); err == nil && len(raw) <= maxCapabilities {
			c.Capabilities = raw
		}
	}
	extra := r.req.Extra
	if extra == nil {
		return c
	}
	if t := extra.TokenInfo; t != nil {
		c.Subject, c.Scopes, c.Expiration = t.UserID, t.Scopes, t.Expiration
	}
	if token := extra.Header.Get(headerAuthorization); token != "" && m.opts.KeepTokens != nil {
		c.Token = m.opts.KeepTokens.seal(token, task, owner)
	}
	return c
}

// maxCapabilities bounds what a client can make us keep of what it can do, in
// bytes. Without, it counts as one that can do nothing.
const maxCapabilities = 16 << 10

func (c *Caller) surface() surface {
	switch c.Follows {
	case followsExtension:
		return surfaceExtension
	case followsTools:
		return surfaceTools
	}
	return surfaceNone
}

// extra makes of a recorded caller what a handler sees of a request.
func (m *Manager) extra(rec *Record) (*mcp.RequestExtra, error) {
	c := &rec.Caller
	extra := &mcp.RequestExtra{}
	if c.Subject != "" || len(c.Scopes) > 0 || !c.Expiration.IsZero() {
		extra.TokenInfo = &auth.TokenInfo{UserID: c.Subject, Scopes: c.Scopes, Expiration: c.Expiration}
	}
	if c.Token != nil && m.opts.KeepTokens != nil {
		token, err := m.opts.KeepTokens.open(c.Token, rec.ID, rec.Owner)
		if err != nil {
			return nil, err
		}
		extra.Header = http.Header{headerAuthorization: {token}}
	}
	return extra, nil
}

// meta makes the _meta of a recorded call.
func (c *Caller) meta() mcp.Meta {
	meta := mcp.Meta{mcp.MetaKeyProtocolVersion: wire.StatelessRevision}
	var caps map[string]any
	if json.Unmarshal(c.Capabilities, &caps) != nil || caps == nil {
		caps = map[string]any{}
	}
	meta[mcp.MetaKeyClientCapabilities] = caps
	return meta
}
