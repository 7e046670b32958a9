// Package proxy stands between a client and a server on stdio and passes their
// messages on.
//
// It is a pump for lines, not a client and a server back to back: a message that
// the proxy has nothing to do with is written as the bytes that were read, and of
// those that it keeps count of only the id and the method are looked at. Hence
// methods, capabilities and fields that it has never heard of pass, ids and
// progress tokens need no translation, and the two directions, which know nothing
// of one another, are as fast as their readers: whoever does not read is not read
// from. Requests of the server to the client (sampling, elicitation, roots) are
// lines like others.
//
// What it adds is what a client cannot do for itself: text that is no message
// never reaches the client; a server that dies leaves no request without an
// answer; and another one takes its place, to which the session is introduced as
// the client had introduced itself.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// Options configures [Run].
type Options struct {
	// Command is the server, which is started in Dir, or in our directory if
	// that is "", with Env (NAME=VALUE) in addition to our environment.
	Command []string
	Env     []string
	Dir     string
	// URL is a Streamable HTTP endpoint, which is the server if there is no
	// Command. Headers are sent with each request to it. Client may be shared by
	// what is at the same URL; if nil, there is one for this session.
	URL     string
	Headers http.Header
	Client  *Client
	// In and Out are the client's messages and the answers to them. Log
	// receives what the proxy and the server have to say.
	In       io.Reader
	Out, Log io.Writer
	// Hurry, if non-nil, is closed when there is no more time to wait for the
	// answers to what is in flight.
	Hurry <-chan struct{}
	// MaxLine bounds a message, in bytes. If zero, DefaultMaxLine.
	MaxLine int
	// MaxInFlight bounds the requests without an answer, for each side. If zero,
	// DefaultMaxInFlight.
	MaxInFlight int
	// Start is how long a request waits for a server that is being started
	// again. If zero, DefaultStart.
	Start time.Duration
	// EOFWindow is how long the server may run on after the client's input has
	// ended. If zero, DefaultEOFWindow.
	EOFWindow time.Duration
	// StopWindow is how long requests in flight are waited for after ctx was
	// cancelled. If zero, DefaultStopWindow.
	StopWindow time.Duration
}

// What holds if Options says nothing.
const (
	DefaultMaxLine     = 64 << 20
	DefaultMaxInFlight = 4096
	DefaultStart       = 10 * time.Second
	DefaultEOFWindow   = 10 * time.Second
	DefaultStopWindow  = 5 * time.Second
)

// How a server is started again and ended.
const (
	firstDelay = 100 * time.Millisecond // before the second start in a row
	maxDelay   = 10 * time.Second
	grace      = time.Second // from the end of input to SIGTERM, and from there to SIGKILL
)

// errNoAnswer is returned if no server has ever said anything.
var errNoAnswer = errors.New("the server ended before it had answered anything")

// Run starts the server and passes messages until the client's input ends or ctx
// is cancelled. It returns an error if the server cannot be started, or ends at
// once and had never said anything.
//
// It does not wait for a Read of Options.In that never returns.
func Run(ctx context.Context, opts Options) error {
	opts.MaxLine = cmp.Or(opts.MaxLine, DefaultMaxLine)
	opts.MaxInFlight = cmp.Or(opts.MaxInFlight, DefaultMaxInFlight)
	opts.Start = cmp.Or(opts.Start, DefaultStart)
	opts.EOFWindow = cmp.Or(opts.EOFWindow, DefaultEOFWindow)
	opts.StopWindow = cmp.Or(opts.StopWindow, DefaultStopWindow)
	if opts.URL != "" && opts.Client == nil {
		opts.Client = NewClient()
		defer opts.Client.CloseIdle()
	}
	p := &proxy{
		opts:    opts,
		log:     newLog(opts.Log),
		client:  jsonl.NewWriter(opts.Out),
		pending: map[string]call{},
		asked:   map[string][]byte{},
		stale:   map[string]struct{}{},
		up:      make(chan struct{}),
		eof:     make(chan struct{}),
		gone:    make(chan struct{}),
		over:    make(chan struct{}),
		own:     map[string]chan<- []byte{},
		idle:    make(chan struct{}, 1),
	}
	defer p.log.close()
	c, err := p.start(0)
	if err != nil {
		return err
	}
	go p.fromClient()
	ended := make(chan error, 1)
	go func() { ended <- p.supervise(c) }()
	return p.wait(ctx, ended)
}

// wait returns when the session has ended, and sees to it that it does.
func (p *proxy) wait(ctx context.Context, ended <-chan error) error {
	stopped := ctx.Done()
	select {
	case err := <-ended:
		return err
	case <-p.gone: // nobody reads what the server says
		p.finish(ended, 0)
		return nil
	case <-p.eof:
		p.endInput() // as the client would have done
		select {
		case err := <-ended:
			return err
		case <-stopped:
			p.finish(ended, 0)
		case <-time.After(p.opts.EOFWindow):
			p.finish(ended, 0)
		case <-p.gone:
			p.finish(ended, 0)
		}
		return nil
	case <-stopped:
	}
	n := p.refuse()
	if n > 0 {
		p.log.say("stopping: %d requests are waited for, for %v at most", n, p.opts.StopWindow)
	}
	window := time.After(p.opts.StopWindow)
	for waiting := n > 0; waiting; {
		select {
		case <-p.idle:
			p.mu.Lock()
			waiting = p.inFlight() > 0
			p.mu.Unlock()
		case err := <-ended:
			return err
		case <-p.opts.Hurry:
			waiting = false
		case <-p.gone:
			waiting = false
		case <-window:
			waiting = false
		}
	}
	p.finish(ended, grace)
	return nil
}

// finish ends the server: its input first, and after a while with more force.
func (p *proxy) finish(ended <-chan error, patience time.Duration) {
	p.endInput()
	hurry := p.opts.Hurry
	for _, force := range []func(*child){(*child).terminate, (*child).kill} {
		select {
		case <-ended:
			return
		case <-hurry:
		case <-time.After(patience):
		}
		hurry = nil
		p.mu.Lock()
		c := p.latest
		p.mu.Unlock()
		force(c)
		patience = grace
	}
	select {
	case <-ended:
	case <-time.After(grace):
	}
}

// endInput ends the server's input, for good.
func (p *proxy) endInput() {
	p.mu.Lock()
	c := p.latest
	if !p.ending {
		p.ending = true
		close(p.over)
	}
	p.mu.Unlock()
	c.closeInput()
}

// supervise sees one server after the other to its end.
func (p *proxy) supervise(c *child) error {
	failures := 0
	for generation := 1; ; generation++ {
		if c != nil {
			<-c.ended
			spoke := c.answered.Load()
			ending := p.isEnding() // before the client, who is told now, ends it itself
			p.bury(c)
			if spoke {
				failures = 0
			}
			if !ending && !p.spoken.Load() {
				return fmt.Errorf("%w: %s", errNoAnswer, c.status())
			}
			if p.isEnding() {
				return nil
			}
			if p.opts.URL != "" {
				p.log.say("the session ended (%s) and is begun again", c.status())
			} else {
				p.log.say("the server ended (%s) and is started again", c.status())
			}
		}
		if failures > 0 {
			select {
			case <-time.After(min(firstDelay<<min(failures-1, 10), maxDelay)):
			case <-p.over:
				return nil
			}
		}
		failures++
		var err error
		if c, err = p.start(generation); err != nil {
			p.log.say("%v", err)
			c = nil
		}
	}
}
