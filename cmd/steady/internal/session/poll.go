package session

import (
	"context"
	"time"
)

// A Deadline bounds something that is asked for again and again.
type Deadline struct{ at time.Time }

// After returns a Deadline d from now.
func After(d time.Duration) Deadline { return Deadline{time.Now().Add(d)} }

// Sleep waits a moment, and returns false if the deadline or ctx is over.
func (d Deadline) Sleep(ctx context.Context) bool {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return time.Now().Before(d.at)
	}
}
