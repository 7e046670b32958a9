package stdioguard

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lastBatchRevision is the last protocol revision with JSON-RPC batches.
const lastBatchRevision = "2025-03-26"

// maxBatch bounds the messages of a batch. A larger one is refused.
const maxBatch = 1000

// smallReply is room for an error that stands for a reply that does not fit.
const smallReply = 2048

// A batch collects the replies to an array of messages, which go out as one
// array (JSON-RPC 2.0, section 6).
type batch struct {
	mu      sync.Mutex
	missing int
	replies []byte // the array, without its closing bracket
}

// add appends a reply, if it is not nil.
func (b *batch) add(reply []byte) {
	if reply == nil {
		return
	}
	separator := byte(',')
	if len(b.replies) == 0 {
		separator = '['
	}
	b.replies = append(append(b.replies, separator), reply...)
}

// whole returns the array, or nil if replies are missing or none is due.
func (b *batch) whole() []byte {
	if b.missing > 0 || len(b.replies) == 0 {
		return nil
	}
	return append(b.replies, ']')
}

// handleBatch handles a line that begins with a bracket. It reports whether to
// go on.
func (c *conn) handleBatch(ln line) bool {
	var elements [][]byte
	n := 0
	err := scanElements(ln.text, func(value []byte) {
		if n++; n <= maxBatch {
			elements = append(elements, value)
		}
	})
	if err != nil {
		c.reject(reject(ln.text, err), ln.size)
		return true
	}
	c.mu.Lock()
	revision := c.revision
	c.mu.Unlock()
	switch {
	case n == 0:
		c.reject(&rejection{code: jsonrpc.CodeInvalidRequest, reason: "an empty batch"}, ln.size)
	case revision == "" || revision > lastBatchRevision:
		c.refuseBatch(elements, ln, "batches are not part of this protocol revision")
	case n > maxBatch:
		c.refuseBatch(elements, ln, "a batch of more than 1000 messages")
	default:
		return c.acceptBatch(elements, ln)
	}
	return true
}

// refuseBatch answers each of the requests in a batch, because a client that
// is told only that something was refused waits for all of them.
func (c *conn) refuseBatch(elements [][]byte, ln line, reason string) {
	whole := &rejection{code: jsonrpc.CodeInvalidRequest, reason: reason}
	answered := false
	for _, element := range elements {
		m, r := decodeMessage(element)
		switch m := m.(type) {
		case *jsonrpc.Request:
			r = &rejection{}
			if m.IsCall() {
				r.id = appendID(nil, m.ID)
			}
		case *jsonrpc.Response:
			r = &rejection{response: true, id: appendID(nil, m.ID)}
		}
		r.code, r.reason = whole.code, whole.reason
		if r.response {
			c.failAsked(r)
		} else if r.id != nil {
			if reply := c.rejectionReply(r); reply != nil && c.queueRejection(reply) {
				answered = true
			}
		}
	}
	if answered {
		c.reportRejection(whole, ln.size, true)
		return
	}
	c.reject(whole, ln.size)
}

// acceptBatch passes the messages of a batch on. It reports whether to go on.
func (c *conn) acceptBatch(elements [][]byte, ln line) bool {
	b := new(batch)
	var messages []jsonrpc.Message
	for _, element := range elements {
		m, r := decodeMessage(element)
		if r == nil {
			r = c.admit(m, b)
		}
		if r == nil {
			messages = append(messages, m)
			if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
				b.missing++
			}
			continue
		}
		if r.response {
			c.failAsked(r)
			c.reportRejection(r, int64(len(element)), false)
			continue
		}
		reply := c.rejectionReply(r)
		b.add(reply)
		c.reportRejection(r, int64(len(element)), reply != nil)
	}
	// Nothing has been passed on yet, so no reply can have come.
	if whole := b.whole(); whole != nil {
		c.queueRejection(whole)
	}
	for _, m := range messages {
		if !c.deliver(m) {
			return false
		}
	}
	return true
}

// completeBatch adds the reply to one of the batch's requests, and writes the
// array when it was the last. All of it has to fit in one message, so a reply
// that leaves no room for the others is replaced like one that is too large. A
// nil r is the reply to a request that the client has cancelled: there is none.
func (c *conn) completeBatch(b *batch, r *jsonrpc.Response, request *jsonrpc.Request) error {
	b.mu.Lock()
	b.missing--
	if r != nil {
		b.add(c.appendReply(nil, r, request, len(b.replies)+smallReply*b.missing))
	}
	whole := b.whole()
	b.mu.Unlock()
	if whole == nil {
		return nil
	}
	return c.write(func(dst []byte) ([]byte, error) { return append(dst, whole...), nil })
}
