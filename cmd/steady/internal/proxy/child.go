package proxy

import (
	"errors"
	"sync/atomic"
)

// A child is one server that a session has or had.
type child struct {
	server
	exited   chan struct{} // closed when it has ended
	ended    chan struct{} // closed when all that it said has been passed on as well
	answered atomic.Bool   // it has answered a request of the client
}

// A server is what a child is made of: a process, or a session at an endpoint.
type server interface {
	// send sends a line, which it does not keep. It may overwrite what follows
	// the line in its array.
	send(line []byte) error
	// closeInput says that there is nothing more to send. The server ends when it
	// has answered what it has.
	closeInput()
	// terminate ends the server soon, and kill at once.
	terminate()
	kill()
	// status says how it ended.
	status() string
}

// start starts a server. All but the first are introduced to the session before
// anything else is sent to them.
func (p *proxy) start(generation int) (*child, error) {
	c := &child{exited: make(chan struct{}), ended: make(chan struct{})}
	if p.opts.URL != "" {
		p.dial(c)
	} else if err := p.launch(c); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.latest = c
	ending := p.ending
	p.mu.Unlock()
	if ending { // while we were starting it
		c.closeInput()
		c.terminate()
	}
	if generation == 0 {
		p.takeOver(c)
		return c, nil
	}
	go func() {
		if err := p.introduce(c, generation); err != nil {
			p.log.say("the server that was started again cannot be used: %v", err)
			c.kill()
			return
		}
		p.takeOver(c)
	}()
	return c, nil
}

var errInputClosed = errors.New("the server's input is closed")
