package stdioguard

import "time"

const (
	// rejectedFirst is how many events are sent for the first rejected
	// messages of a session, one for each.
	rejectedFirst = 10
	// rejectedEvery is how often one is sent after that.
	rejectedEvery = 10 * time.Second
)

// complaints are what is to be said of rejected messages, of which a client
// that sends nothing else must not make a log. It is guarded by conn.mu.
type complaints struct {
	sent  int         // of the first ones
	at    time.Time   // when the last event was sent
	held  Rejected    // the next event, if its Count is not zero
	timer *time.Timer // of the next event
}

// complainLocked reports a message that was rejected, at once or later.
func (c *conn) complainLocked(e Rejected) {
	e.Count = c.complaints.held.Count + 1
	c.complaints.held = e
	switch {
	case c.complaints.sent < rejectedFirst:
		c.complaints.sent++
		c.sendComplaintLocked()
	case c.complaints.timer == nil && c.phase != over:
		c.complaints.timer = time.AfterFunc(rejectedEvery-time.Since(c.complaints.at), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.sendComplaintLocked()
		})
	}
}

func (c *conn) sendComplaintLocked() {
	if c.complaints.timer != nil {
		c.complaints.timer.Stop()
		c.complaints.timer = nil
	}
	if c.complaints.held.Count > 0 {
		c.reporter.report(c.complaints.held)
		c.complaints.held, c.complaints.at = Rejected{}, time.Now()
	}
}
