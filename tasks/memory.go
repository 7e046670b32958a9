package tasks

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/rand"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// MemoryOptions bounds a [MemoryStore]. The zero value is ready to use.
type MemoryOptions struct {
	// MaxTasks bounds how many tasks are kept, running and ended. If zero or less, 20,000.
	MaxTasks int
	// MaxPerOwner bounds how many of them belong to one principal, so that one
	// cannot take the room of all. If zero or less, a quarter of MaxTasks.
	MaxPerOwner int
	// MaxBytes bounds the memory for their arguments, results and inputs, in
	// bytes. If zero or less, 256 MiB.
	MaxBytes int
}

// A MemoryStore keeps tasks in memory: they end with the process. It never
// drops a task before its time; when it is full, new calls are refused.
type MemoryStore struct {
	opts  MemoryOptions
	epoch string

	mu       sync.Mutex
	tasks    map[string]*memoryTask
	bytes    int
	held     map[heldKey]string             // key or identity -> id; may be stale, the record decides
	running  map[string]map[string]struct{} // owner -> ids of tasks that are not terminal
	owned    map[string]int                 // tasks by owner
	expiring expiryHeap
	workers  map[string]*memoryWorker
}

type memoryTask struct {
	rec     Record
	size    int
	worker  string        // the worker that it is filed under
	changed chan struct{} // closed at the next change; nil while nobody watches
}

type memoryWorker struct {
	until time.Time
	ids   map[string]struct{}
}

type heldKey struct {
	owner, tool string
	identity    bool // else an idempotency key
	value       string
}

// held iterates over the keys and the identity of r.
func (r *Record) held() iter.Seq[heldKey] {
	return func(yield func(heldKey) bool) {
		if r.Key != "" && !yield(heldKey{r.Owner, r.Tool, false, r.Key}) ||
			r.Identity != "" && !yield(heldKey{r.Owner, r.Tool, true, r.Identity}) {
			return
		}
		for k := range r.JoinedKeys {
			if !yield(heldKey{r.Owner, r.Tool, false, k}) {
				return
			}
		}
	}
}

// NewMemoryStore returns an empty store. A nil opts means the zero
// MemoryOptions.
func NewMemoryStore(opts *MemoryOptions) *MemoryStore {
	s := &MemoryStore{
		epoch:   strings.ToLower(rand.Text()[:10]),
		tasks:   map[string]*memoryTask{},
		held:    map[heldKey]string{},
		running: map[string]map[string]struct{}{},
		owned:   map[string]int{},
		workers: map[string]*memoryWorker{},
	}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.MaxTasks = positiveOr(s.opts.MaxTasks, 20_000)
	s.opts.MaxPerOwner = positiveOr(s.opts.MaxPerOwner, max(1, s.opts.MaxTasks/4))
	s.opts.MaxBytes = positiveOr(s.opts.MaxBytes, 256<<20)
	return s
}

// Epoch implements [Store].
func (s *MemoryStore) Epoch() string { return s.epoch }

// Create implements [Store].
func (s *MemoryStore) Create(_ context.Context, now time.Time, r Record) (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.holder(now, &r); t != nil {
		rec := t.rec.clone()
		switch added, err := AddKey(&rec, &r, now); {
		case err != nil:
			return Record{}, false, err
		case added: // it is small, and bounded: it needs no room
			rec.Version++
			rec.UpdatedAt = now
			s.put(now, t, rec, rec.size())
			s.held[heldKey{r.Owner, r.Tool, false, r.Key}] = rec.ID
		}
		return t.rec.clone(), false, nil
	}
	s.sweep(now, 8) // keeps a busy store from growing between sweeps
	size := r.size()
	if len(s.tasks) >= s.opts.MaxTasks || s.owned[r.Owner] >= s.opts.MaxPerOwner || s.bytes+size > s.opts.MaxBytes {
		return Record{}, false, ErrFull
	}
	if _, taken := s.tasks[r.ID]; taken {
		return Record{}, false, ErrConflict
	}
	r.Version, r.UpdatedAt = 1, now
	t := &memoryTask{}
	s.tasks[r.ID] = t
	s.owned[r.Owner]++
	s.put(now, t, r, size)
	return r.clone(), true, nil
}

// holder returns the task that a call like r must join.
func (s *MemoryStore) holder(now time.Time, r *Record) *memoryTask {
	if r.Key != "" {
		if t := s.tasks[s.held[heldKey{r.Owner, r.Tool, false, r.Key}]]; t != nil && t.rec.KeyHeld(now) && !s.over(now, t) {
			return t
		}
	}
	if r.Identity != "" {
		if t := s.tasks[s.held[heldKey{r.Owner, r.Tool, true, r.Identity}]]; t != nil && t.rec.IdentityHeld(now) && !s.over(now, t) {
			return t
		}
	}
	return nil
}

// over reports whether t has expired and nobody works on it any more.
func (s *MemoryStore) over(now time.Time, t *memoryTask) bool {
	return t.rec.Expired(now) && !now.Before(s.aliveUntil(t))
}

// aliveUntil is until when the worker of t is alive by its last beat, zero if it
// has none.
func (s *MemoryStore) aliveUntil(t *memoryTask) time.Time {
	if w := s.workers[t.worker]; w != nil {
		return w.until
	}
	return time.Time{}
}

// put makes r the state of t and brings every index in line with it.
func (s *MemoryStore) put(now time.Time, t *memoryTask, r Record, size int) {
	created := t.rec.Version == 0
	ended := r.Status.Terminal() && !t.rec.Status.Terminal()
	t.rec = r.clone()
	s.bytes += size - t.size
	t.size = size

	for key := range r.held() {
		held := r.KeyHeld(now)
		if key.identity {
			held = r.IdentityHeld(now)
		}
		switch {
		case held && created: // a key that was let go is never taken back
			s.held[key] = r.ID
		case !held && s.held[key] == r.ID:
			delete(s.held, key)
		}
	}
	if r.Status.Terminal() {
		removeFrom(s.running, r.Owner, r.ID)
	} else {
		addTo(s.running, r.Owner, r.ID)
	}
	if ended {
		heap.Push(&s.expiring, expiry{r.ExpiresAt, r.ID})
	}
	if t.worker != r.Worker {
		s.leaveWorker(t)
		if t.worker = r.Worker; t.worker != "" {
			s.worker(t.worker).ids[r.ID] = struct{}{}
		}
	}
	t.wake()
}

func (s *MemoryStore) worker(name string) *memoryWorker {
	w := s.workers[name]
	if w == nil {
		w = &memoryWorker{ids: map[string]struct{}{}}
		s.workers[name] = w
	}
	return w
}

func (s *MemoryStore) leaveWorker(t *memoryTask) {
	if w := s.workers[t.worker]; w != nil {
		delete(w.ids, t.rec.ID)
	}
}

// Get implements [Store].
func (s *MemoryStore) Get(_ context.Context, id string) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil {
		return Record{}, ErrNotFound
	}
	return t.rec.clone(), nil
}

// Update implements [Store].
func (s *MemoryStore) Update(_ context.Context, now time.Time, r Record) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[r.ID]
	switch {
	case t == nil:
		return Record{}, ErrNotFound
	case t.rec.Version != r.Version:
		return Record{}, ErrConflict
	}
	if err := CheckUpdate(&t.rec, &r); err != nil {
		return Record{}, err
	}
	// What says how a task is getting on, or that it has failed, always finds
	// room; only what is large does not.
	const small = 4 << 10
	size := r.size()
	if size > t.size+small && s.bytes+size-t.size > s.opts.MaxBytes {
		return Record{}, ErrFull
	}
	r.Version++
	r.UpdatedAt = now
	s.put(now, t, r, size)
	return r.clone(), nil
}

func (t *memoryTask) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// Delete implements [Store].
func (s *MemoryStore) Delete(_ context.Context, id string, version int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	switch {
	case t == nil:
		return ErrNotFound
	case t.rec.Version != version:
		return ErrConflict
	}
	s.remove(t)
	return nil
}

func (s *MemoryStore) remove(t *memoryTask) {
	r := &t.rec
	delete(s.tasks, r.ID)
	s.bytes -= t.size
	if s.owned[r.Owner]--; s.owned[r.Owner] == 0 {
		delete(s.owned, r.Owner)
	}
	for k := range r.held() {
		if s.held[k] == r.ID {
			delete(s.held, k)
		}
	}
	removeFrom(s.running, r.Owner, r.ID)
	s.leaveWorker(t)
	t.wake()
}

// Watch implements [Store].
func (s *MemoryStore) Watch(ctx context.Context, id string, after int64) (Record, error) {
	for {
		s.mu.Lock()
		t := s.tasks[id]
		if t == nil {
			s.mu.Unlock()
			return Record{}, ErrNotFound
		}
		if t.rec.Version > after {
			r := t.rec.clone()
			s.mu.Unlock()
			return r, nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
}

// Running implements [Store].
func (s *MemoryStore) Running(_ context.Context, owner string, limit int) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rs []Record
	for id := range s.running[owner] {
		if r := &s.tasks[id].rec; r.Disclosed {
			rs = append(rs, r.clone())
		}
	}
	slices.SortFunc(rs, func(a, b Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return rs[:min(limit, len(rs))], nil
}

// Sweep implements [Store].
func (s *MemoryStore) Sweep(_ context.Context, now time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep(now, limit), nil
}

func (s *MemoryStore) sweep(now time.Time, limit int) int {
	n := 0
	for n < limit && len(s.expiring) > 0 && !now.Before(s.expiring[0].at) {
		e := heap.Pop(&s.expiring).(expiry)
		t := s.tasks[e.id]
		switch {
		case t == nil:
		case s.over(now, t):
			s.remove(t)
			n++
		case t.rec.Expired(now): // its work has not stopped: look again when its worker might be gone
			heap.Push(&s.expiring, expiry{s.aliveUntil(t), e.id})
		default: // it was prolonged
			heap.Push(&s.expiring, expiry{t.rec.ExpiresAt, e.id})
		}
	}
	return n
}

// Beat implements [Store].
func (s *MemoryStore) Beat(_ context.Context, worker string, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker(worker).until = until
	return nil
}

// Lost implements [Store]. It also forgets dead workers that have no tasks.
func (s *MemoryStore) Lost(_ context.Context, now time.Time, limit int) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rs []Record
	for name, w := range s.workers {
		if w.until.IsZero() || now.Before(w.until) {
			continue
		}
		if len(w.ids) == 0 {
			delete(s.workers, name)
			continue
		}
		for id := range w.ids {
			if len(rs) < limit {
				rs = append(rs, s.tasks[id].rec.clone())
			}
		}
	}
	return rs, nil
}

func addTo(m map[string]map[string]struct{}, key, id string) {
	if m[key] == nil {
		m[key] = map[string]struct{}{}
	}
	m[key][id] = struct{}{}
}

func removeFrom(m map[string]map[string]struct{}, key, id string) {
	delete(m[key], id)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

// expiryHeap orders ended tasks by the time at which they may be swept.
type expiryHeap []expiry

type expiry struct {
	at time.Time
	id string
}

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h expiryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *expiryHeap) Push(x any)        { *h = append(*h, x.(expiry)) }
func (h *expiryHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
