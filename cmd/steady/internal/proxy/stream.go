package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// How streams are taken up again.
const (
	resumeDelay = time.Second // unless the server says otherwise
	minRetry    = 50 * time.Millisecond
	maxRetry    = 30 * time.Second
	maxResumes  = 5 // in a row that bring nothing
	maxEventID  = 1024
	drainTime   = time.Second // for the end of a stream that has nothing more to say
)

// An event is a server-sent event, as far as it matters.
type event struct {
	data []byte // in one line
	cut  bool   // data was too long, and is its beginning; tail is its end
	tail []byte
}

// events reads server-sent events, and keeps the last id and the delay that the
// server wants before it is asked for more.
type events struct {
	in     *frames
	limit  int
	lastID string
	retry  time.Duration
	first  bool
}

func newEvents(r io.Reader, limit int) *events {
	return &events{in: newFrames(&endless{r: r, limit: 4*int64(limit) + 1<<20}, limit+len("data: ")), limit: limit, retry: resumeDelay, first: true}
}

// An endless reader fails in a line that is so long that it may have no end.
type endless struct {
	r     io.Reader
	limit int64
	line  int64 // bytes of the line so far
}

var errEndless = errors.New("a line has no end")

func (e *endless) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		e.line = int64(n - i - 1)
	} else if e.line += int64(n); e.line > e.limit {
		return 0, errEndless
	}
	return n, err
}

// next returns the next event that has data and is no other than a message.
func (s *events) next() (event, error) {
	var ev event
	name, id, lines := "", "", 0
	for {
		line, tail, cut, err := s.in.next()
		if err != nil {
			return event{}, err // what is left is no whole event
		}
		if s.first {
			line, s.first = withoutBOM(line), false
		}
		if len(line) == 0 {
			if id != "" {
				s.lastID = id
			}
			if len(ev.data) > 0 && (name == "" || name == "message") {
				return ev, nil
			}
			ev, name, id, lines = event{}, "", "", 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if lines++; cut || len(ev.data)+len(value) > s.limit {
				if !ev.cut {
					ev.data = append(ev.data, value[:min(len(value), 4<<10)]...)
				}
				ev.cut, ev.tail = true, bytes.Clone(tail)
				continue
			}
			if ev.cut {
				ev.tail = append(ev.tail[:0], value[max(0, len(value)-256):]...)
				continue
			}
			if lines > 1 {
				ev.data = append(ev.data, ' ')
			}
			ev.data = append(ev.data, value...)
		case "event":
			name = string(value[:min(len(value), 64)])
		case "id":
			if len(value) <= maxEventID && !bytes.ContainsRune(value, 0) && !cut {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				s.retry = max(minRetry, min(time.Duration(ms)*time.Millisecond, maxRetry))
			}
		}
	}
}

// stream passes on the events of a response, and of those that take it up again
// where it broke.
func (x *exchange) stream(body io.Reader, session string) {
	lastID, retry := "", resumeDelay
	done := func() {} // closes the response that takes up the stream
	defer func() { done() }()
	for idle := 0; ; {
		s := newEvents(body, x.e.p.opts.MaxLine)
		s.lastID, s.retry = lastID, retry
		err := x.events(s, session, body)
		if err == nil {
			return
		}
		if s.lastID == "" || session == "" || x.ctx.Err() != nil || idle >= maxResumes {
			if x.ctx.Err() == nil {
				why := "the stream ended without an answer"
				if err != io.EOF {
					why = "the connection broke: " + x.e.mask(rootCause(err))
				}
				x.incomplete(why)
			}
			return
		}
		if idle++; s.lastID != lastID {
			idle = 0
		}
		lastID, retry = s.lastID, s.retry
		done()
		done = func() {}
		if !sleep(x.ctx, retry) {
			return
		}
		resp, err := x.e.get(x.ctx, lastID)
		if err != nil {
			body = bytes.NewReader(nil)
			continue
		}
		body, done = resp.Body, func() { _ = resp.Body.Close() }
		if !isStream(resp) {
			x.incomplete(fmt.Sprintf("the stream broke, and could not be taken up again: HTTP status %d", resp.StatusCode))
			return
		}
	}
}

// events passes on events until all answers have come, or the stream ends, which
// is an error.
func (x *exchange) events(s *events, session string, body io.Reader) error {
	for {
		ev, err := s.next()
		if err != nil {
			return err
		}
		if ev.cut {
			x.tooLong(ev)
		} else {
			x.deliver(oneLine(ev.data), session)
		}
		if x.answered() {
			// The server should end the stream now. If it does soon, the connection
			// can be used again.
			defer time.AfterFunc(drainTime, x.giveUp).Stop()
			_, _ = io.CopyN(io.Discard, body, keepOpen)
			return nil
		}
	}
}

// tooLong refuses a message that is too long.
func (x *exchange) tooLong(ev event) {
	if id, request := identify(ev.data, ev.tail); !request {
		x.settle(id)
	}
	x.e.p.tooLong(ev.data, ev.tail, x.e.send, func(answer []byte) error {
		x.e.p.answer(answer)
		return nil
	})
}

// keepOpen is what is read of a stream after its answer, in bytes.
const keepOpen = 64 << 10

// get asks for a stream: one that belongs to no request, or the rest of one that
// broke.
func (e *endpoint) get(ctx context.Context, lastID string) (*http.Response, error) {
	req, err := e.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	return e.client.http.Do(req)
}

func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return resp.StatusCode == http.StatusOK && kind == "text/event-stream"
}

// listen opens the stream that belongs to no request, and keeps it open.
func (e *endpoint) listen() {
	e.mu.Lock()
	skip := e.listening || e.closed || e.lost
	e.listening = true
	e.mu.Unlock()
	if skip {
		return
	}
	e.streams.Go(func() {
		lastID, delay, opened := "", time.Duration(0), false
		for failures := 0; sleep(e.ctx, delay); failures++ {
			retry := resumeDelay
			if resp, err := e.get(e.ctx, lastID); err == nil {
				if !isStream(resp) {
					_ = resp.Body.Close()
					e.noStream(resp.StatusCode, opened)
					return
				}
				began := time.Now()
				s := newEvents(resp.Body, e.p.opts.MaxLine)
				s.lastID = lastID
				x := &exchange{e: e, ctx: e.ctx}
				_ = x.events(s, "", resp.Body)
				_ = resp.Body.Close()
				if s.lastID != lastID || time.Since(began) > maxDelay {
					failures = 0
				}
				lastID, retry, opened = s.lastID, s.retry, true
			}
			delay = min(retry<<min(failures, 10), maxRetry)
			delay += rand.N(delay/4 + 1)
		}
	})
}

// noStream says why there is no stream that belongs to no request, where that is
// not the server's right. opened says that there was one before.
func (e *endpoint) noStream(status int, opened bool) {
	switch {
	case status == http.StatusMethodNotAllowed:
	case status == http.StatusNotFound && opened:
		e.lose(status)
	default:
		e.p.log.say("the server answers GET with HTTP status %d: what it says outside of requests is not heard", status)
	}
}
