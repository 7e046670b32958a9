package peers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Protocol revisions: the last one with a handshake, and the first without.
const (
	handshake = "2025-11-25"
	stateless = "2026-07-28"
)

type arguments = map[string]any

// An answer is what a client makes of the answer to a call.
type answer struct {
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structured"` // null if there is none
	Text       []string        `json:"text"`       // of each part of the content that is text
	Links      []string        `json:"links"`      // to resources
}

// text is all of the answer's text, a part on a line.
func (a answer) text() string { return strings.Join(a.Text, "\n") }

// A client is a connection of somebody's client to a server.
type client interface {
	// revision is the protocol revision that was agreed on, "" if the client
	// does not tell.
	revision() string
	listTools(context.Context) (names []string, err error)
	callTool(ctx context.Context, name string, args arguments) (answer, error)
	listPrompts(context.Context) (names []string, err error)
	getPrompt(ctx context.Context, name string, args map[string]string) (text string, err error)
	listResources(context.Context) (uris []string, err error)
	readResource(ctx context.Context, uri string) (text string, err error)
}

// A peer is somebody's client, speaking one revision.
type peer struct {
	name     string
	revision string
	connect  func(*testing.T, *server) (client, error)
	// only is the one transport that it is used over, "" if both.
	only string
	// checksNames says that the client refuses a tool that was not listed by
	// itself, so that no wrong name reaches the server.
	checksNames bool
	// silent says that over HTTP the client gives a call up without telling the
	// server. Up to 2025-11-25 a connection that ends says nothing.
	silent bool
	// forgets says that every request is a process of its own, which over stdio
	// has a server of its own.
	forgets bool
}

var peers []peer

// eachPeer runs a test with each client over stdio and HTTP.
func eachPeer(t *testing.T, e *example, test func(*testing.T, *session)) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, transport := range []string{stdio, http} {
				if e.only != "" && e.only != transport || p.only != "" && p.only != transport {
					continue
				}
				t.Run(transport, func(t *testing.T) {
					t.Parallel()
					test(t, &session{T: t, peer: p, example: e, transport: transport})
				})
			}
		})
	}
}

// A session is a test of one client with one server. What does not succeed ends
// the test.
type session struct {
	*testing.T
	peer
	*example
	transport string
	server    *server
	client    client
}

// open starts the server with args, and connects to it.
func (s *session) open(args ...string) {
	s.Helper()
	s.server = s.example.over(s.T, s.transport, args...)
	var err error
	s.client, err = s.connect(s.T, s.server)
	require.NoError(s, err)
	if got := s.client.revision(); got != "" && s.example.script == "" {
		require.Equal(s, s.peer.revision, got)
	} else if got != "" {
		require.Equal(s, handshake, got) // is all that the servers from npm speak
	}
}

// keeps says that one call can rely on what another has done.
func (s *session) keeps() bool { return !s.forgets || s.transport == http }

// within is how long anything may take.
const within = 60 * time.Second

func (s *session) context() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), within)
	s.Cleanup(cancel)
	return ctx
}

func (s *session) tools() []string {
	s.Helper()
	names, err := s.client.listTools(s.context())
	require.NoError(s, err)
	return names
}

func (s *session) call(name string, args arguments) answer {
	s.Helper()
	a, err := s.client.callTool(s.context(), name, args)
	require.NoError(s, err, "%s %v", name, args)
	return a
}

// ok makes a call that must succeed, and decodes what it returns into out,
// which may be nil.
func (s *session) ok(name string, args arguments, out any) answer {
	s.Helper()
	a := s.call(name, args)
	require.False(s, a.IsError, "%s %v: %s", name, args, a.text())
	require.NotEmpty(s, a.Text, "%s: there is text for models", name)
	if out != nil {
		require.NoError(s, json.Unmarshal(a.Structured, out), "%s: %s", name, a.Structured)
	}
	return a
}

// same makes a call that must succeed, and whose text must say the same as its
// structured content.
func (s *session) same(name string, args arguments, out any) answer {
	s.Helper()
	a := s.ok(name, args, out)
	require.JSONEq(s, string(a.Structured), a.Text[0], name)
	return a
}

// refused makes a call that the server must refuse, in words for the model.
func (s *session) refused(name string, args arguments, want ...string) {
	s.Helper()
	a := s.call(name, args)
	require.True(s, a.IsError, "%s %v", name, args)
	require.Equal(s, "null", string(a.Structured), "%s %v", name, args)
	for _, w := range want {
		require.Contains(s, a.text(), w, "%s %v", name, args)
	}
}

// coverage sees that a test called every tool.
type coverage struct {
	client
	called map[string]bool
}

func (c *coverage) callTool(ctx context.Context, name string, args arguments) (answer, error) {
	c.called[name] = true
	return c.client.callTool(ctx, name, args)
}

// mustCallAll fails the test unless it calls each tool that is listed, except
// those that are named, which it calls elsewhere.
func (s *session) mustCallAll(except ...string) {
	s.Helper()
	names := s.tools()
	c := &coverage{s.client, map[string]bool{}}
	s.client = c
	s.Cleanup(func() {
		for _, name := range names {
			if !slices.Contains(except, name) && !s.Failed() && !c.called[name] {
				s.Errorf("%s was not called", name)
			}
		}
	})
}
