package protect

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
	"github.com/steadymcp/steady/registry"
)

// Bounds on what one session makes us hold.
const (
	maxCalls = 4096 // requests without an answer
	maxConns = 16   // handshakes
)

// A session is one client, and one stage behind.
type session struct {
	p      *Protector
	server *mcp.Server
	taken  map[string]bool // methods that go to server
	ours   []string        // tools that protections add
	log    func(format string, args ...any)

	client, child *jsonl.Writer
	hangUp        func() // ends the input of the stage behind
	nonce         string
	numbers       atomic.Int64
	ctx           context.Context // ends when the stage behind has ended
	end           context.CancelCauseFunc
	listings      listings
	clash         sync.Once // for saying that two tools have one name
	unreadable    sync.Once // for saying that a list is not as it should be

	mu      sync.Mutex
	conns   []*conn          // to server; the last is in use
	fresh   bool             // nothing was said on it
	calls   map[int64]*call  // by their number with server
	byID    map[string]*call // the same, by the client's id
	byExtra map[*mcp.RequestExtra]*call
	asked   map[string]chan []byte // requests of ours that the stage behind has
	tokens  map[string]*call       // by progress token
	drained chan struct{}          // closed when calls is empty, if not nil
}

// A call is a request of the client that server has.
type call struct {
	line   []byte // as the client sent it
	id     []byte // parts of line
	params []byte
	method string
	number int64
	token  string
	conn   *conn
	extra  *mcp.RequestExtra // is how middleware knows the call

	mu       sync.Mutex
	given    mcp.Params // as they were decoded from params
	cancel   []byte     // the params of the client's cancellation
	answered bool
	answers  []*answer // of the stage behind
	failure  *failed
	run      context.Context // of the request that was sent on
	out      *mcp.CallToolRequest
	final    []byte // the line to answer with, if not what server says
}

// newSession puts a server together. It does not run.
func (p *Protector) newSession() (*session, error) {
	s := &session{
		p:       p,
		ours:    p.ownTools(),
		nonce:   "steady-" + strings.ToLower(rand.Text()[:10]) + "-",
		calls:   map[int64]*call{},
		byID:    map[string]*call{},
		byExtra: map[*mcp.RequestExtra]*call{},
		asked:   map[string]chan []byte{},
		tokens:  map[string]*call{},
		taken:   map[string]bool{"initialize": true, "server/discover": true, "tools/list": true, "tools/call": true},
	}
	s.log = func(format string, args ...any) { p.opts.Logger.Warn("steady proxy: " + fmt.Sprintf(format, args...)) }
	s.ctx, s.end = context.WithCancelCause(context.Background())
	take := func(methods ...string) {
		for _, m := range methods {
			s.taken[m] = true
		}
	}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "steady-proxy", Version: "1"}, nil)
	s.server.AddReceivingMiddleware(s.forward)
	if v := p.cfg.Visibility; v != nil {
		registry.New(s.server, &registry.Options{Verbatim: true, VisibleTo: visible(v, s.ours), Observer: p.observer})
		s.server.AddReceivingMiddleware(sameForAll)
	}
	var stack []mcp.Middleware // from the outside in, as steady.Wrap has it
	if p.errors != nil {
		stack = append(stack, p.errors)
	}
	if p.errors != nil || p.resolver != nil {
		take("prompts/get", "resources/read")
	}
	switch {
	case p.resolver != nil:
		stack = append(stack, p.resolver.Middleware())
	case p.names != nil:
		stack = append(stack, p.names.Middleware())
	}
	if p.limiter != nil {
		stack = append(stack, p.limiter.Middleware())
	}
	if p.tasks != nil {
		if err := p.tasks.Install(s.server); err != nil {
			return nil, err
		}
		stack = append(stack, p.tasks.Middleware())
		take("tasks/get", "tasks/update", "tasks/cancel")
	}
	if p.budget != nil {
		p.budget.Install(s.server)
		stack = append(stack, p.budget.Middleware())
		take("resources/read")
		if p.cfg.Results.Keep != nil {
			take("resources/list", "resources/templates/list")
		}
	}
	s.server.AddReceivingMiddleware(stack...)
	if p.cfg.Search != nil {
		if err := p.addSearch(s.server, s.ours); err != nil {
			return nil, err
		}
		n := p.cfg.Search.Names.WithDefaults()
		s.ours = append(s.ours, n.Find, n.Describe, n.Browse, n.Call, n.Write)
	}
	if t := p.opts.Telemetry; t != nil {
		s.server.AddReceivingMiddleware(t.Middleware())
	}
	s.server.AddReceivingMiddleware(s.finish)
	return s, nil
}

// close ends the server's sessions.
func (s *session) close() {
	s.end(errEnded)
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

var errEnded = errors.New("the server has ended")

// run carries the session. It returns what next returns.
func (s *session) run(ctx context.Context, in io.Reader, out io.Writer, next Stage) error {
	defer s.close()
	inbox := newInbox()
	s.client, s.child, s.hangUp = jsonl.NewWriter(out), jsonl.NewWriter(inbox), inbox.end
	if err := s.connect(); err != nil {
		return err
	}
	go func() {
		s.fromClient(in)
		s.drain(ctx)
		inbox.end()
	}()
	err := next(ctx, inbox, &lines{take: s.fromChild, limit: 2 * s.p.opts.MaxLine})
	inbox.close()
	s.end(errEnded)
	s.settle()
	return err
}

// drain waits, not for long, until what the client had asked is answered: calls
// that wait for a place have not been sent on yet.
func (s *session) drain(ctx context.Context) {
	drained := make(chan struct{})
	s.mu.Lock()
	s.drained = drained
	s.maybeDrained()
	s.mu.Unlock()
	window := s.p.opts.EOFWindow
	select {
	case <-drained:
	case <-time.After(window):
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// settle waits a moment until calls that the end of the server has failed are
// answered.
func (s *session) settle() {
	drained := make(chan struct{})
	s.mu.Lock()
	s.drained = drained
	s.maybeDrained()
	s.mu.Unlock()
	select {
	case <-drained:
	case <-time.After(time.Second):
	}
}

// maybeDrained tells who waits for the end of all calls. s.mu is held.
func (s *session) maybeDrained() {
	if s.drained != nil && len(s.calls) == 0 {
		close(s.drained)
		s.drained = nil
	}
}

// fromClient reads what the client says until it ends.
func (s *session) fromClient(in io.Reader) {
	lines := jsonl.NewReader(in, s.p.opts.MaxLine)
	for first := true; ; first = false {
		line, tail, cut, err := lines.Next()
		if err != nil {
			return
		}
		if first {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		switch {
		case cut:
			s.log("a message of more than %d bytes was not passed on", s.p.opts.MaxLine)
			if id, request := jsonl.Identify(line, tail); id != nil && request {
				_ = s.client.Line(rpc.Refusal(id, rpc.Invalid, "The message is too long. It was not passed on."))
			}
		case len(line) == 0:
		case isArray(line) && s.takesPart(line):
			jsonl.Elements(bytes.TrimLeft(line, " \t"), func(value []byte) { s.clientMessage(bytes.Clone(value)) })
		default:
			s.clientMessage(line)
		}
	}
}

// takesPart reports whether a message in an array is one for server. The array is
// then taken apart.
func (s *session) takesPart(line []byte) (takes bool) {
	jsonl.Elements(bytes.TrimLeft(line, " \t"), func(value []byte) {
		m := read(value)
		takes = takes || s.taken[m.method] || m.method == "notifications/cancelled"
	})
	return takes
}

func (s *session) clientMessage(line []byte) {
	m := read(line)
	switch {
	case s.taken[m.method]:
		if m.id == nil {
			s.log("a notification %q is no request, and was not passed on", m.method)
			return
		}
		if strings.HasPrefix(m.method, "tasks/") && !s.p.tasks.Issued(textOf(jsonl.Member(m.params, "taskId"))) {
			break // the server's own
		}
		if !jsonl.IsID(m.id) {
			_ = s.client.Line(rpc.Refusal([]byte("null"), rpc.Invalid, "The id is no string and no number. The request was not passed on."))
			return
		}
		s.toServer(bytes.Clone(line))
		return
	case m.method == "notifications/cancelled":
		if s.cancelled(m.params) {
			return
		}
	case m.method == "notifications/initialized":
		s.notify(m.method, m.params)
	}
	_ = s.child.Line(line)
}

func textOf(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	text, _ := jsonl.Text(value)
	return text
}

// toServer has server answer a request.
func (s *session) toServer(line []byte) {
	m := read(line)
	c := &call{line: line, id: m.id, params: m.params, method: m.method, number: s.numbers.Add(1), extra: &mcp.RequestExtra{}}
	if token := jsonl.Member(jsonl.Member(m.params, "_meta"), "progressToken"); token != nil {
		c.token = jsonl.IDKey(token)
	}
	if m.method == "initialize" {
		if err := s.connect(); err != nil {
			_ = s.client.Line(rpc.Refusal(c.id, rpc.Unavailable, err.Error()))
			return
		}
	}
	s.mu.Lock()
	if len(s.calls) >= maxCalls {
		s.mu.Unlock()
		_ = s.client.Line(rpc.Refusal(c.id, rpc.Unavailable, "Too many requests are waiting for an answer. Nothing was done. Try again later."))
		return
	}
	c.conn = s.conns[len(s.conns)-1]
	s.fresh = false
	s.calls[c.number] = c
	s.byID[jsonl.IDKey(c.id)] = c
	s.byExtra[c.extra] = c
	if c.token != "" {
		s.tokens[c.token] = c
	}
	s.mu.Unlock()
	id, _ := jsonrpc.MakeID(float64(c.number)) // numbers always are
	c.conn.deliver(&jsonrpc.Request{ID: id, Method: c.method, Params: slices.Clone(c.params), Extra: c.extra})
}

func (s *session) notify(method string, params []byte) {
	s.mu.Lock()
	c := s.conns[len(s.conns)-1]
	s.mu.Unlock()
	c.deliver(&jsonrpc.Request{Method: method, Params: bytes.Clone(params)})
}

// cancelled has server withdraw a request, which it then does further on. It
// reports whether server has the request.
func (s *session) cancelled(params []byte) bool {
	s.mu.Lock()
	c := s.byID[jsonl.IDKey(jsonl.Member(params, "requestId"))]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	c.cancel = bytes.Clone(params)
	c.mu.Unlock()
	c.conn.deliver(&jsonrpc.Request{Method: "notifications/cancelled", Params: []byte(`{"requestId":` + strconv.FormatInt(c.number, 10) + `}`)})
	return true
}

// fromServer passes on what server says.
func (s *session) fromServer(msg jsonrpc.Message) error {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		number, _ := msg.ID.Raw().(int64)
		return s.answer(number, msg)
	case *jsonrpc.Request:
		if msg.ID.IsValid() {
			return errors.New("the proxy asks the client nothing by itself")
		}
		line, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		return s.client.Line(line)
	}
	return nil
}

// answer answers the client's request.
func (s *session) answer(number int64, msg *jsonrpc.Response) error {
	s.mu.Lock()
	c := s.calls[number]
	delete(s.calls, number)
	if c != nil {
		delete(s.byExtra, c.extra)
	}
	if c != nil && s.byID[jsonl.IDKey(c.id)] == c {
		delete(s.byID, jsonl.IDKey(c.id))
	}
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	defer func() {
		s.mu.Lock()
		s.maybeDrained()
		s.mu.Unlock()
	}()
	c.mu.Lock()
	c.answered = true
	line, withdrawn, running := c.final, c.cancel != nil, c.run != nil
	c.mu.Unlock()
	if !running {
		s.forget(c)
	}
	if withdrawn {
		return nil // nobody waits for it
	}
	if line == nil {
		encoded, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			encoded = rpc.Refusal(c.id, rpc.Internal, "The answer cannot be written.")
		}
		line = withID(encoded, c.id)
	}
	return s.client.Line(line)
}

// forget drops a call's progress token.
func (s *session) forget(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[c.token] == c {
		delete(s.tokens, c.token)
	}
}

// fromChild passes on what the stage behind says. Its line is valid until it returns.
func (s *session) fromChild(line []byte) error {
	if isArray(line) { // one of its messages may be an answer to us
		var err error
		jsonl.Elements(bytes.TrimLeft(line, " \t"), func(value []byte) { err = errors.Join(err, s.fromChild(bytes.Clone(value))) })
		return err
	}
	if len(line) == 0 || s.childMessage(line) {
		return nil
	}
	err := s.client.Line(line)
	if err != nil { // nobody reads what it says
		s.hangUp()
	}
	return err
}

// childMessage takes notice of a message, and reports whether that is all.
func (s *session) childMessage(line []byte) bool {
	m := read(line)
	switch {
	case m.method == "" && m.id != nil:
		id := textOf(m.id)
		if !strings.HasPrefix(id, s.nonce) {
			return false
		}
		s.mu.Lock()
		waiting := s.asked[id]
		delete(s.asked, id)
		s.mu.Unlock()
		if waiting != nil {
			waiting <- bytes.Clone(line)
		}
		return true
	case m.method == "notifications/progress":
		return s.progress(m.params)
	case strings.HasSuffix(m.method, "/list_changed"):
		s.listings.forget(strings.TrimSuffix(strings.TrimPrefix(m.method, "notifications/"), "/list_changed"))
	}
	return false
}
