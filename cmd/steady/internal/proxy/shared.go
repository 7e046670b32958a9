package proxy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// sharedPatience is how long, in all, one client may hold up the others by not
// reading.
const sharedPatience = 5 * time.Second

// A principal tells callers without a session apart: what is kept behind the stage
// for one of them, such as a task or a result, is not another's to find.
type principal [sha256.Size]byte

// principalOf returns who makes a request, as far as can be told here: whoever has
// its Authorization. Those who send none are the zero principal.
func principalOf(r *http.Request) (p principal) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		p = sha256.Sum256([]byte(strings.Join(values, "\n")))
	}
	return p
}

// A shared is the stage of all requests of one principal that have no session.
// Their ids and progress tokens are made different for it.
type shared struct {
	front *Front
	owner principal
	in    *io.PipeWriter
	inMu  sync.Mutex
	idle  *time.Timer

	mu     sync.Mutex
	last   int64
	calls  map[string]*sharedCall // by the key of the id that the stage sees
	ended  bool
	warned map[string]bool // methods of messages that belong to nobody
}

// A sharedCall is one request.
type sharedCall struct {
	out    *reply
	id     []byte // that its client gave it
	token  []byte // for progress, likewise; nil if none
	listen bool
	lists  bool // tools
}

// sharedOf returns the stage of a principal, which it starts if there is none.
func (f *Front) sharedOf(owner principal) (*shared, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return nil, errors.New("the server is shutting down; call again in a moment")
	}
	if s := f.shared[owner]; s != nil {
		return s, nil
	}
	counts := owner != principal{}
	if counts {
		if f.live >= f.opts.MaxSessions {
			return nil, f.full()
		}
		f.live++
	}
	in, w := io.Pipe()
	s := &shared{front: f, owner: owner, in: w, calls: map[string]*sharedCall{}, warned: map[string]bool{}}
	s.idle = time.AfterFunc(f.opts.SessionTimeout, s.end)
	f.run(in, s.line, func(err error) {
		if err != nil {
			f.log.say("%v", err)
		}
		s.end()
		s.fail(whyEnded(err))
		if counts {
			f.mu.Lock()
			f.live--
			f.mu.Unlock()
		}
	})
	f.shared[owner] = s
	return s, nil
}

// full says that there are as many sessions as there may be.
func (f *Front) full() error {
	return fmt.Errorf("the server has %d sessions open and takes no more; try again later", f.opts.MaxSessions)
}

// end takes no more requests, and ends the stage's input.
func (s *shared) end() {
	s.front.mu.Lock()
	if s.front.shared[s.owner] == s {
		delete(s.front.shared, s.owner)
	}
	s.front.mu.Unlock()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.idle.Stop()
	_ = s.in.Close()
}

// fail answers what waits for an answer.
func (s *shared) fail(why string) {
	s.mu.Lock()
	calls := s.calls
	s.calls = map[string]*sharedCall{}
	s.mu.Unlock()
	for _, c := range calls {
		c.out.put("", rpc.Refusal(c.id, rpc.Unavailable, "There is no answer from the server: "+why+"."), true)
	}
}

// add notes a request, and returns its line and key as the stage sees them, or
// reports that the stage has ended.
func (s *shared) add(c *sharedCall, m *message, line []byte) (rewritten []byte, key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, "", false
	}
	s.last++
	key = strconv.FormatInt(s.last, 10)
	s.calls[key] = c
	s.idle.Stop()
	edits := []jsonl.Edit{{Part: m.id, With: []byte(key)}}
	if token := member(member(m.params, "_meta"), "progressToken"); token != nil {
		c.token = slices.Clone(token)
		edits = append(edits, jsonl.Edit{Part: token, With: []byte(key)})
	}
	return jsonl.Splice(line, edits...), key, true
}

// drop forgets a request, and reports whether it had no answer.
func (s *shared) drop(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.calls[key]
	delete(s.calls, key)
	if len(s.calls) == 0 && !s.ended {
		s.idle.Reset(s.front.opts.SessionTimeout)
	}
	return open
}

// send sends a line to the stage.
func (s *shared) send(line []byte) error {
	s.inMu.Lock()
	defer s.inMu.Unlock()
	_, err := s.in.Write(append(line, '\n'))
	return err
}

// line takes what the stage says, and passes it on to whom it belongs.
func (s *shared) line(line []byte) {
	messages, _ := parse(line)
	if len(messages) != 1 {
		s.nobody("an array of messages")
		return
	}
	m := &messages[0]
	switch {
	case m.isResponse():
		s.answer(m, line)
	case m.isRequest():
		s.nobody(m.method)
		// Not at once: whoever reads that may wait for us to read.
		refused := rpc.Refusal(m.id, -32601, "there is no client to ask: the requests that it has have no session")
		go func() { _ = s.send(refused) }()
	default:
		s.notify(m, line)
	}
}

// of returns the request with a key.
func (s *shared) of(key string) *sharedCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[key]
}

func (s *shared) answer(m *message, line []byte) {
	key := idKey(m.id)
	c := s.of(key)
	if c == nil {
		return // it was given up
	}
	edits := []jsonl.Edit{{Part: m.id, With: c.id}}
	if c.listen {
		if id := subscriptionOf(member(line, "result")); id != nil {
			edits = append(edits, jsonl.Edit{Part: id, With: c.id})
		}
	}
	if c.lists {
		s.front.params.learn(member(line, "result"))
	}
	s.drop(key)
	c.out.put("", jsonl.Splice(line, edits...), true)
}

// notify passes on a notification: to the request whose progress it tells, or to
// the subscription that it is for.
func (s *shared) notify(m *message, line []byte) {
	var id, with []byte
	var c *sharedCall
	last := false
	switch m.method {
	case "notifications/progress":
		id = member(m.params, "progressToken")
		if c = s.of(idKey(id)); c != nil {
			with = c.token
		}
	case "notifications/cancelled": // the end of a subscription
		id = member(m.params, "requestId")
		c, last = s.of(idKey(id)), true
	default:
		id = subscriptionOf(m.params)
		c = s.of(idKey(id))
	}
	switch {
	case c == nil && id == nil:
		s.nobody(m.method)
		return
	case c == nil: // it was given up
		return
	case with == nil:
		with = c.id
	}
	key := idKey(id)
	edits := []jsonl.Edit{{Part: id, With: with}}
	if other := subscriptionOf(m.params); other != nil && last {
		edits = append(edits, jsonl.Edit{Part: other, With: c.id})
	}
	if last {
		s.drop(key)
	}
	c.out.put("", jsonl.Splice(line, edits...), last)
}

// subscriptionOf returns the id of the subscription that params or a result say
// they are for, or nil.
func subscriptionOf(params []byte) []byte {
	return member(member(params, "_meta"), "io.modelcontextprotocol/subscriptionId")
}

// nobody mentions, once, what belongs to nobody.
func (s *shared) nobody(method string) {
	s.mu.Lock()
	first := !s.warned[method] && len(s.warned) < 64
	if first {
		s.warned[method] = true
	}
	s.mu.Unlock()
	if first {
		s.front.log.say("the server sent %.100q, which says for none of the requests in flight that it belongs to it: it is dropped", method)
	}
}

// callShared sends a message to the stage of its principal. leave is to be called
// when its client has the answer, or has gone.
func (f *Front) callShared(owner principal, out *reply, m *message, line []byte) (leave func(complete bool), err error) {
	c := &sharedCall{out: out, id: slices.Clone(m.id), listen: m.method == methodListen, lists: m.method == "tools/list"}
	for {
		s, err := f.sharedOf(owner)
		if err != nil {
			return nil, err
		}
		if !m.isRequest() {
			return func(bool) {}, s.send(line)
		}
		rewritten, key, ok := s.add(c, m, line)
		if !ok {
			continue
		}
		if err := s.send(rewritten); err != nil && s.drop(key) {
			continue // it has ended in this moment, without having seen the line
		}
		return func(bool) {
			if s.drop(key) {
				_ = s.send(cancellation([]byte(key)))
			}
		}, nil
	}
}

// callAlone sends a message to a stage of its own.
func (f *Front) callAlone(_ principal, out *reply, m *message, line []byte) (leave func(complete bool), err error) {
	id, lists := slices.Clone(m.id), m.method == "tools/list"
	f.mu.Lock()
	if f.draining {
		f.mu.Unlock()
		return nil, errors.New("the server is shutting down; call again in a moment")
	}
	r, in := io.Pipe()
	f.run(r, func(line []byte) {
		messages, _ := parse(line)
		last := len(messages) == 1 && messages[0].isResponse() && idKey(messages[0].id) == idKey(id)
		if last && lists {
			f.params.learn(member(line, "result"))
		}
		out.put("", slices.Clone(line), last)
	}, func(err error) {
		if id != nil {
			out.put("", rpc.Refusal(id, rpc.Unavailable, "There is no answer from the server: "+whyEnded(err)+"."), true)
		}
	})
	f.mu.Unlock()
	if _, err := in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return func(complete bool) {
		if !complete && id != nil {
			_, _ = in.Write(append(cancellation(id), '\n'))
		}
		_ = in.Close()
	}, nil
}

// cancellation says that nobody waits for the answer to a request any more.
func cancellation(id []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the client has gone"}}`, id)
}

// postModern serves a message of the era without sessions.
func (f *Front) postModern(w http.ResponseWriter, r *http.Request, line []byte, messages []message) {
	if len(messages) != 1 {
		refuse(w, http.StatusBadRequest, nil, rpc.Invalid, "there are several messages in the body, which no revision allows any more")
		return
	}
	m := &messages[0]
	if repeats(line) || repeats(m.params) || repeats(member(m.params, "_meta")) {
		refuse(w, http.StatusBadRequest, m.id, rpc.Invalid, "a member of the message is there twice")
		return
	}
	if m.isResponse() {
		w.WriteHeader(http.StatusAccepted) // to nothing: there are no requests to clients
		return
	}
	if code, text := mismatch(r.Header, m); text != "" {
		refuse(w, http.StatusBadRequest, m.id, code, text)
		return
	}
	if text := f.params.mismatch(r.Header, m.params); m.method == "tools/call" && text != "" {
		refuse(w, http.StatusBadRequest, m.id, codeHeaders, text)
		return
	}
	if m.method == "notifications/cancelled" { // the end of the connection says that
		w.WriteHeader(http.StatusAccepted)
		return
	}
	call, patience := f.callShared, sharedPatience
	if f.opts.Alone {
		call, patience = f.callAlone, f.opts.WriteTimeout
	}
	out := newReply(patience, !f.opts.Alone)
	leave, err := call(principalOf(r), out, m, line)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, m.id, rpc.Unavailable, err.Error())
		return
	}
	if !m.isRequest() {
		leave(true)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var closing <-chan struct{}
	if m.method == methodListen {
		closing = f.closing
	}
	leave(out.write(w, r, f.opts.WriteTimeout, false, true, closing))
}

// repeats reports whether an object has a member twice, for somebody who does not
// tell capitals from small letters. The server might take the other of the two
// for the message's id, which would be that of another client's.
func repeats(object []byte) (twice bool) {
	var seen []string
	members(object, func(key, _ []byte) {
		k := strings.ToLower(string(key))
		twice = twice || len(seen) >= maxMembers || slices.ContainsFunc(seen, func(s string) bool { return strings.EqualFold(s, k) })
		seen = append(seen, k)
	})
	return twice
}

// maxMembers bounds the members of a message, its params and their _meta.
const maxMembers = 64

// mismatch returns what is wrong with the headers of a message, as section
// "Standard Headers" of the transports of revision 2026-07-28 has it.
func mismatch(h http.Header, m *message) (code int, text string) {
	version := h.Get("Mcp-Protocol-Version")
	if m.isRequest() {
		switch said := revisionOf(m.params); {
		case version == "":
			return codeHeaders, "the header Mcp-Protocol-Version is missing"
		case said == "":
			return -32602, `the field "io.modelcontextprotocol/protocolVersion" of _meta is missing or no text`
		case said != version:
			return codeHeaders, fmt.Sprintf("the header Mcp-Protocol-Version is %.40q, and the request says %.40q", version, said)
		}
	}
	if method := h.Get("Mcp-Method"); method != headerText(m.method) {
		return codeHeaders, fmt.Sprintf("the header Mcp-Method is %.100q, and the method is %.100q", method, m.method)
	}
	name, given := nameOf(m.method, m.params), h.Get("Mcp-Name")
	switch m.method {
	case "tools/call", "prompts/get", "resources/read":
	default: // that of a task may be left out
		if name == "" || given == "" {
			return 0, ""
		}
	}
	if name == "" || given != headerText(name) && given != name {
		return codeHeaders, fmt.Sprintf("the header Mcp-Name is %.100q, and the request is for %.100q", given, name)
	}
	return 0, ""
}
