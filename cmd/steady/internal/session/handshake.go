package session

import (
	"encoding/json"
	"fmt"
	"time"
)

var clientInfo = map[string]any{"name": "steady-doctor", "version": "1"}

// InitializeParams returns the parameters of initialize for a revision.
func InitializeParams(revision string) map[string]any {
	return map[string]any{"protocolVersion": revision, "capabilities": map[string]any{}, "clientInfo": clientInfo}
}

// Handshake begins the session: with initialize, and where the server does not
// know that, without a handshake.
func (s *Session) Handshake(timeout time.Duration) error {
	r := s.Call("initialize", InitializeParams(Revision), timeout)
	if r.Err != nil {
		return fmt.Errorf("initialize: %w", r.Err)
	}
	if r.Error != nil {
		if s.Discover(timeout) != nil {
			return fmt.Errorf("initialize: %w", r.Error)
		}
		return nil
	}
	if err := s.learn(r.Result); err != nil {
		return fmt.Errorf("the answer to initialize cannot be read: %w", err)
	}
	return s.Notify("notifications/initialized", nil)
}

// Discover begins a session without a handshake: from now on each request says
// the revision itself.
func (s *Session) Discover(timeout time.Duration) error {
	s.server.Stateless, s.server.Revision = true, Stateless
	r := s.Call("server/discover", nil, timeout)
	err := r.Err
	if err == nil && r.Error != nil {
		err = r.Error
	}
	if err == nil {
		err = s.learn(r.Result)
	}
	if err != nil {
		s.server = Server{}
		return fmt.Errorf("server/discover: %w", err)
	}
	return nil
}

// learn reads what the server says about itself.
func (s *Session) learn(result json.RawMessage) error {
	var got struct {
		ProtocolVersion string
		Capabilities    map[string]json.RawMessage
		ServerInfo      struct{ Name, Version string }
		Instructions    string
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		return err
	}
	if s.server.Stateless {
		_ = json.Unmarshal(got.Meta["io.modelcontextprotocol/serverInfo"], &got.ServerInfo)
	} else {
		s.server.Revision = got.ProtocolVersion
	}
	s.server.Name, s.server.Version = got.ServerInfo.Name, got.ServerInfo.Version
	s.server.Instructions, s.server.Capabilities = got.Instructions, got.Capabilities
	return nil
}
