// Package fleet puts several servers behind one endpoint.
//
// Each server has a [proxy.Run] of its own, which starts it again when it dies and
// keeps what it prints from the session. The fleet stands between those and the
// client: it answers the handshake and the listings with what all of them say, and
// sends every other message to the one that it is for. Of a message that passes
// only ids, names of tools and prompts, and the logger of a log message are
// changed; every other byte is the sender's.
//
// No server waits for another: each has a queue of its own, a listing leaves out
// who does not answer in time, and who has been left out is asked again in the
// background and announced to the client when it is back.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
)

// A Server is one of several. What the fields say besides its name is what those
// of [proxy.Options] say.
type Server struct {
	// Name is unique, and has at most 32 letters, digits, hyphens and underscores.
	Name    string
	Command []string
	Env     []string
	Dir     string
	URL     string
	Headers http.Header
	Client  *proxy.Client
}

// Options configures [Run].
type Options struct {
	// Servers are in the order in which listings have them.
	Servers []Server
	// Qualify says which names carry their server's name. If "", Always.
	Qualify Qualify
	// Version is our own, for the client.
	Version string
	// In and Out are the client's messages and the answers to them. Log
	// receives what we and the servers have to say; each write is one line.
	In       io.Reader
	Out, Log io.Writer
	// Hurry, if non-nil, is closed when there is no more time to wait for the
	// answers to what is in flight.
	Hurry <-chan struct{}
	// MaxLine bounds a message, in bytes. If zero, proxy.DefaultMaxLine.
	MaxLine int
	// MaxInFlight bounds the requests without an answer, for each side. If zero,
	// proxy.DefaultMaxInFlight.
	MaxInFlight int
	// MaxQueue bounds what a server has still to read, in bytes, and what is kept
	// of requests in flight. One message of any size is the exception. If zero,
	// DefaultMaxQueue.
	MaxQueue int
	// Start is how long a server may take to introduce itself or to list what it
	// has, before it is left out, and how long a request waits for one that is
	// being started again. If zero, proxy.DefaultStart.
	Start time.Duration
	// EOFWindow and StopWindow are those of each server's [proxy.Options].
	EOFWindow, StopWindow time.Duration

	// start runs a server. If nil, it is started with its command.
	start func(context.Context, Server, proxy.Options) error
}

// DefaultMaxQueue is the most that a server may have still to read.
const DefaultMaxQueue = 16 << 20

// ErrNone is returned if none of the servers could be started.
var ErrNone = errors.New("none of the servers could be started")

// A fleet is one session of a client.
type fleet struct {
	opts     Options
	log      proxy.Log
	out      *sink
	children []*child
	next     atomic.Int64   // ids that we give
	requests sync.WaitGroup // of the client
	work     sync.WaitGroup // see spawn
	over     chan struct{}  // closed when the client's input has ended
	gone     chan struct{}  // closed when the client takes no more

	mu       sync.Mutex
	ctx      context.Context // of what is done for the client's requests
	session  session
	inflight map[string]*request // of the client, by jsonl.IDKey
	held     int                 // bytes that are kept of them
	asked    map[int64]ask       // of children, by the id that the client knows
	tokens   map[int64]token     // progress tokens of children
	listens  map[int64]*listen   // by the id that a child knows
	books    map[*kind]*book
	merged   map[*kind][]*listing // the last that have further pages
	told     map[string]bool      // collisions that are on the log
	handles  handles
	closed   bool // nothing may be begun any more

	collisions map[string]Collision
}

func (o *Options) complete() {
	o.MaxLine = cmp.Or(o.MaxLine, proxy.DefaultMaxLine)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, proxy.DefaultMaxInFlight)
	o.MaxQueue = cmp.Or(o.MaxQueue, DefaultMaxQueue)
	o.Start = cmp.Or(o.Start, proxy.DefaultStart)
	if o.Qualify == "" {
		o.Qualify = Always
	}
	if o.start == nil {
		o.start = func(ctx context.Context, s Server, opts proxy.Options) error {
			opts.Command, opts.Env, opts.Dir = s.Command, s.Env, s.Dir
			opts.URL, opts.Headers, opts.Client = s.URL, s.Headers, s.Client
			return proxy.Run(ctx, opts)
		}
	}
}

func newFleet(opts Options) (*fleet, error) {
	opts.complete()
	switch {
	case len(opts.Servers) == 0:
		return nil, errors.New("there are no servers")
	case opts.Qualify != Always && opts.Qualify != Collisions:
		return nil, fmt.Errorf("names are qualified %q or %q, not %q", Always, Collisions, opts.Qualify)
	}
	if err := CheckServers(opts.Servers); err != nil {
		return nil, err
	}
	opts.Log = &oneByOne{w: opts.Log}
	f := &fleet{
		opts: opts, log: proxy.NewLog(opts.Log), over: make(chan struct{}), gone: make(chan struct{}),
		inflight: map[string]*request{}, asked: map[int64]ask{}, tokens: map[int64]token{}, listens: map[int64]*listen{},
		books: map[*kind]*book{}, merged: map[*kind][]*listing{}, told: map[string]bool{},
		collisions: map[string]Collision{},
	}
	f.out = &sink{w: opts.Out, gone: func() { close(f.gone) }}
	for _, k := range kinds {
		f.books[k] = &book{}
	}
	for _, s := range opts.Servers {
		f.children = append(f.children, newChild(f, s))
	}
	return f, nil
}

// Run starts the servers and passes messages until the client's input ends or ctx
// is cancelled. A server that cannot be started is left out and tried again; if
// none ever could, the error is ErrNone.
//
// It does not wait for a Read of Options.In that never returns.
func Run(ctx context.Context, opts Options) error {
	f, err := newFleet(opts)
	if err != nil {
		return err
	}
	defer f.log.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-f.gone:
			stop()
		case <-ctx.Done():
		}
	}()
	ended := f.start(ctx)
	go func() {
		f.fromClient()
		f.finish()
	}()
	return <-ended
}

// start starts the servers. The channel gets what Run returns when all have ended.
func (f *fleet) start(ctx context.Context) <-chan error {
	working, quit := context.WithCancel(context.Background())
	f.mu.Lock()
	f.ctx = working
	f.mu.Unlock()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	for _, c := range f.children {
		all.Go(func() {
			err := c.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			c.mu.Lock()
			spoke := c.spoke
			c.mu.Unlock()
			if err != nil && !spoke {
				failures = append(failures, fmt.Errorf("%s: %w", c.Name, err))
			}
		})
	}
	ended := make(chan error, 1)
	go func() {
		all.Wait()
		quit()
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.requests.Wait()
		f.work.Wait()
		if len(failures) == len(f.children) && !errors.Is(ctx.Err(), context.Canceled) {
			ended <- errors.Join(append([]error{ErrNone}, failures...)...)
			return
		}
		ended <- nil
	}()
	return ended
}

// finish ends the children's input, for good.
func (f *fleet) finish() {
	f.mu.Lock()
	select {
	case <-f.over:
	default:
		close(f.over)
	}
	f.mu.Unlock()
	// What was read before the input ended may still be on its way to a child.
	f.requests.Wait()
	for _, c := range f.children {
		c.mu.Lock()
		box := c.box
		c.mu.Unlock()
		if box != nil {
			box.finish()
		}
	}
}

// spawn runs something in the background, unless the session has ended.
func (f *fleet) spawn(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.work.Go(do)
	}
}

func (f *fleet) isEnding() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

// fromClient handles what the client sends, until that ends.
func (f *fleet) fromClient() {
	in := jsonl.NewReader(f.opts.In, f.opts.MaxLine)
	for {
		line, tail, cut, err := in.Next()
		switch {
		case err != nil:
			return
		case cut:
			f.tooLong(line, tail)
		case len(line) > 0:
			f.clientLine(line)
		}
	}
}
