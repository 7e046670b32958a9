package tasks

import (
	"context"
	"sync/atomic"
)

// slots bounds how many calls of one tool run at once and how many wait.
type slots struct {
	free    chan struct{} // holds one value per running call; nil means no bound
	queue   int32
	waiting atomic.Int32
}

func newSlots(p *Policy) *slots {
	s := &slots{queue: int32(max(p.Queue, 0))}
	if p.Concurrency > 0 {
		s.free = make(chan struct{}, p.Concurrency)
	}
	return s
}

// reserve takes a slot, or else a place in the queue. If both are taken, it
// takes nothing and ok is false.
func (s *slots) reserve() (queued, ok bool) {
	if s.free == nil {
		return false, true
	}
	select {
	case s.free <- struct{}{}:
		return false, true
	default:
	}
	if s.waiting.Add(1) > s.queue {
		s.waiting.Add(-1)
		return false, false
	}
	return true, true
}

// wait turns a place in the queue into a slot. If ctx ends first, both are
// given up.
func (s *slots) wait(ctx context.Context) error {
	defer s.waiting.Add(-1)
	select {
	case s.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives a slot back.
func (s *slots) release() {
	if s.free != nil {
		<-s.free
	}
}

// slotsOf returns the slots of a tool. Names come from policies and registered
// handlers, so there are only as many as tools.
func (m *Manager) slotsOf(tool string, p *Policy) *slots {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[tool]
	if s == nil {
		s = newSlots(p)
		m.slots[tool] = s
	}
	return s
}
