package proxy

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// Bounds on what waits until a client asks for it.
const (
	maxBacklog      = 256
	maxBacklogBytes = 1 << 20
)

var errStageEnded = errors.New("the session has ended")

// An httpSession is a session of a client over HTTP, up to revision 2025-11-25,
// with a stage of its own.
type httpSession struct {
	front  *Front
	id     string
	number int // for the log, which is not told the id
	in     *io.PipeWriter
	inMu   sync.Mutex
	idle   *time.Timer

	mu      sync.Mutex
	posts   int                // that are being served
	waiting map[string]*waiter // requests without an answer
	open    map[*reply]int     // how many of them a reply has
	order   []*reply           // those whose clients are there, in the order in which they began
	tokens  map[string]*reply  // by progress token
	stream  *reply             // that belongs to no request, if it is open
	backlog [][]byte           // what there was no stream for
	kept    int                // its size
	begun   bool               // initialize was answered with a result
	ended   string             // why it has; "" before
}

// A waiter is a request without an answer.
type waiter struct {
	out   *reply
	id    []byte
	token string // key of its progress token, "" if none
}

// newSession begins a session, or returns nil if there are as many as there may be.
func (f *Front) newSession() *httpSession {
	in, w := io.Pipe()
	s := &httpSession{
		front: f, in: w, id: rand.Text(), waiting: map[string]*waiter{}, open: map[*reply]int{}, tokens: map[string]*reply{},
	}
	s.idle = time.AfterFunc(f.opts.SessionTimeout, func() {
		f.log.say("session %d has ended: its client has sent nothing for %v", s.number, f.opts.SessionTimeout)
		s.end("its client has sent nothing for too long")
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining || f.live >= f.opts.MaxSessions {
		s.idle.Stop()
		return nil
	}
	f.live++
	f.count++
	s.number = f.count
	f.sessions[s.id] = s
	f.run(in, s.line, func(err error) {
		if err != nil {
			f.log.say("session %d: %v", s.number, err)
		}
		s.end(whyEnded(err))
		f.mu.Lock()
		f.live--
		f.mu.Unlock()
	})
	return s
}

// whyEnded says why a stage has ended.
func whyEnded(err error) string {
	if err != nil {
		return "the server cannot be started, or ends before it has answered anything"
	}
	return "the server is shutting down"
}

// end ends the session: its stage ends with its input.
func (s *httpSession) end(why string) {
	s.front.mu.Lock()
	delete(s.front.sessions, s.id)
	s.front.mu.Unlock()
	s.idle.Stop()
	s.mu.Lock()
	s.ended = cmp.Or(s.ended, why)
	stream := s.stream
	s.mu.Unlock()
	_ = s.in.Close()
	s.fail("The session has ended: " + why + ".")
	if stream != nil {
		stream.finish()
	}
}

// fail answers what waits for an answer.
func (s *httpSession) fail(why string) {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = map[string]*waiter{}
	s.tokens = map[string]*reply{}
	s.mu.Unlock()
	for _, w := range waiting {
		w.out.put("", rpc.Refusal(w.id, rpc.Unavailable, why), s.answered(w.out, 1))
	}
}

// post serves a POST.
func (s *httpSession) post(w http.ResponseWriter, r *http.Request, line []byte, messages []message, ids [][]byte) {
	s.mu.Lock()
	s.posts++
	s.idle.Stop()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.posts--; s.posts == 0 && s.ended == "" {
			s.idle.Reset(s.front.opts.SessionTimeout)
		}
	}()
	for i := range messages {
		if m := &messages[i]; m.method == "notifications/cancelled" && m.id == nil {
			s.cancel(idKey(member(m.params, "requestId")))
		}
	}
	var out *reply
	if len(ids) > 0 {
		out = newReply(s.front.opts.WriteTimeout, false)
		if status, text := s.register(out, messages); text != "" {
			refuse(w, status, ids[0], rpc.Unavailable, text)
			return
		}
	}
	if err := s.send(line); err != nil && out == nil {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	} // or else the end of the session has answered, or will
	if out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !out.write(w, r, s.front.opts.WriteTimeout, false, false, nil) {
		s.forget(out)
	}
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun {
		s.end("it was refused")
	}
}

// register notes the requests that out is the reply to, or returns why it does not.
func (s *httpSession) register(out *reply, messages []message) (status int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != "" {
		return http.StatusNotFound, "The session has ended: " + s.ended + "."
	}
	for i := range messages {
		if m := &messages[i]; m.isRequest() && s.waiting[idKey(m.id)] != nil {
			return http.StatusBadRequest, fmt.Sprintf("a request with the id %.100s is in flight already", m.id)
		}
	}
	for i := range messages {
		m := &messages[i]
		if !m.isRequest() {
			continue
		}
		wait := &waiter{out: out, id: slices.Clone(m.id)}
		if token := member(member(m.params, "_meta"), "progressToken"); token != nil {
			wait.token = idKey(token)
			s.tokens[wait.token] = out
		}
		s.waiting[idKey(m.id)] = wait
		s.open[out]++
	}
	s.order = append(s.order, out)
	return 0, ""
}

// forget gives up a reply whose client has gone. The requests go on: in this era
// a connection that ends says nothing about them.
func (s *httpSession) forget(out *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = slices.DeleteFunc(s.order, func(r *reply) bool { return r == out })
}

// cancel ends the reply to a request that its client has cancelled, to which the
// server need not say anything any more.
func (s *httpSession) cancel(key string) {
	if out := s.take(key); out != nil && s.answered(out, 1) {
		out.finish()
	}
}

// send sends a line to the stage.
func (s *httpSession) send(line []byte) error {
	s.inMu.Lock()
	defer s.inMu.Unlock()
	_, err := s.in.Write(append(line, '\n'))
	return err
}

// get serves the stream that belongs to no request.
func (s *httpSession) get(w http.ResponseWriter, r *http.Request) {
	out := newReply(s.front.opts.WriteTimeout, false)
	s.mu.Lock()
	if s.stream != nil {
		s.mu.Unlock()
		http.Error(w, "the session has a stream already", http.StatusConflict)
		return
	}
	s.stream = out
	for _, q := range s.backlog {
		out.put("", q, false)
	}
	s.backlog, s.kept = nil, 0
	s.mu.Unlock()
	out.write(w, r, s.front.opts.WriteTimeout, true, false, s.front.closing)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = nil
}

// line takes what the stage says.
func (s *httpSession) line(line []byte) {
	messages, _ := parse(line)
	var to *reply
	answers, others := 0, false
	for i := range messages {
		m := &messages[i]
		if !m.isResponse() {
			others = true
			to = cmp.Or(to, s.place(m))
		} else if out := s.take(idKey(m.id)); out != nil {
			answers++
			to = out
			s.greet(line)
		}
	}
	if answers == 0 && !others {
		return // it answers nothing that anybody waits for
	}
	line = slices.Clone(line)
	if to != nil && to.put("", line, s.answered(to, answers)) || !others {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlog = append(s.backlog, line)
	s.kept += len(line)
	for len(s.backlog) > 1 && (len(s.backlog) > maxBacklog || s.kept > maxBacklogBytes) {
		s.kept -= len(s.backlog[0])
		s.backlog = s.backlog[1:]
	}
}

// take returns the reply that waits for an answer, or nil.
func (s *httpSession) take(key string) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.waiting[key]
	if wait == nil {
		return nil
	}
	delete(s.waiting, key)
	if wait.token != "" && s.tokens[wait.token] == wait.out {
		delete(s.tokens, wait.token)
	}
	return wait.out
}

// greet notes that the session has begun if the first answer is no error.
func (s *httpSession) greet(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = s.begun || member(line, "error") == nil
}

// answered notes that a reply has n answers more, and reports whether it has all.
func (s *httpSession) answered(out *reply, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[out] -= n; s.open[out] > 0 {
		return false
	}
	delete(s.open, out)
	s.order = slices.DeleteFunc(s.order, func(r *reply) bool { return r == out })
	return n > 0
}

// place returns the reply for a message that is no answer, or nil if there is
// none now. What belongs to a request goes to its reply. What may belong to any
// goes to the only one there is, so that it comes before the answer; or to the
// stream that belongs to no request.
func (s *httpSession) place(m *message) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.method == "notifications/progress" {
		if out := s.tokens[idKey(member(m.params, "progressToken"))]; out != nil {
			return out
		}
	}
	switch {
	case len(s.order) == 1:
		return s.order[0]
	case s.stream != nil:
		return s.stream
	case len(s.order) > 0:
		return s.order[len(s.order)-1]
	}
	return nil
}
