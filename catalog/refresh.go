package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

const (
	defaultInterval = 15 * time.Minute
	loadTimeout     = 30 * time.Second // a source has one of its own; this bounds those that do not
	readyTimeout    = time.Minute      // for checking the entries of one load; 50,000 usual ones take seconds
	retryInterval   = 30 * time.Second // after a failure, if the interval is longer
	maxReported     = 20               // malformed entries that are observed one by one
)

// An edition is one state of the catalog. It does not change.
type edition struct {
	version    string
	index      *Index
	operations []operation // as the index's entries
	templates  map[int][]*operation
	unusable   []string // paths of the entries that were left out
	loaded     time.Time
	problems   []Problem
	writes     bool
	tags       map[string]bool
}

// newEdition makes the entries of a snapshot ready. Those that are malformed
// become problems, and so do those for which there is no time.
func newEdition(s *Snapshot, opts *IndexOptions) *edition {
	start := time.Now()
	e := &edition{version: s.Version, loaded: start, problems: slices.Clone(s.Problems), templates: map[int][]*operation{}, tags: map[string]bool{}}
	seen := map[string]bool{}
	// Entries are copied: what is ready is kept beside them.
	entries := make([]Entry, 0, len(s.Entries))
	for i := range s.Entries {
		entry := s.Entries[i]
		entry.ready = nil
		var op *operation
		err := errors.New("the entries before it took too long to check")
		if time.Since(start) < readyTimeout {
			op, err = compile(&entry)
		}
		switch {
		case err != nil:
		case seen[entry.ID]:
			err = errors.New("an earlier entry has this id")
		case len(entries) == maxEntries:
			err = errors.New("the catalog is full")
		default:
			seen[entry.ID] = true
			entries = append(entries, entry)
			e.operations = append(e.operations, *op)
		}
		if err != nil {
			e.problems = append(e.problems, Problem{ID: entry.ID, Err: err})
			if entry.Path != "" {
				e.unusable = append(e.unusable, entry.Path)
			}
		}
	}
	for i := range entries {
		op := &e.operations[i]
		entries[i].ready, op.Entry = op, &entries[i]
		if op.Path != "" {
			n := segments(op.Path)
			e.templates[n] = append(e.templates[n], op)
		}
		e.writes = e.writes || !op.reads()
		for _, tag := range op.Tags {
			e.tags[tag] = true
		}
	}
	e.index = NewIndex(entries, opts)
	return e
}

// prepare is newEdition for entries that come from elsewhere: should they make
// it panic, they are refused together.
func prepare(s *Snapshot, opts *IndexOptions) (e *edition, err error) {
	defer func() {
		if recover() != nil {
			e, err = nil, errors.New("catalog: the entries cannot be used")
		}
	}()
	return newEdition(s, opts), nil
}

// report observes the entries that were left out.
func (e *edition) report(ctx context.Context, o observe.Observer) {
	for _, p := range e.problems[:min(len(e.problems), maxReported)] {
		o.Observe(ctx, LeftOut{p})
	}
}

// operation returns the operation with an id, or nil. It may be called on nil.
func (e *edition) operation(id string) *operation {
	if e == nil {
		return nil
	}
	if n, ok := e.index.byID[id]; ok {
		return &e.operations[n]
	}
	return nil
}

// lookup returns the operation with an id, or the only one whose id differs in
// nothing but case and separators; else nil. It may be called on nil.
func (e *edition) lookup(id string) *operation {
	if op := e.operation(id); op != nil || e == nil || len(id) > 256 {
		return op
	}
	key := collapse(id)
	var only *operation
	for _, n := range e.index.exact[key] {
		if e.index.collapsedIDs[n] != key || collapseID(e.operations[n].ID) != collapseID(id) {
			continue // a title, or other numbers
		}
		if only != nil {
			return nil
		}
		only = &e.operations[n]
	}
	return only
}

// A keeper holds the current edition of a source. However many ask, there is
// one load at a time and one per interval.
type keeper struct {
	source   Source
	index    *IndexOptions
	interval time.Duration
	observer observe.Observer

	mu     sync.Mutex
	now    *edition
	seeded bool          // now is the seed's
	next   time.Time     // when to load again
	flight chan struct{} // closed when the load under way has ended; nil if none is
	began  time.Time     // when it began
	err    error         // of the last load
	closed bool
	stop   context.CancelFunc
	ctx    context.Context
}

func newKeeper(source Source, index *IndexOptions, interval time.Duration, observer observe.Observer) *keeper {
	if interval <= 0 {
		interval = defaultInterval
	}
	k := &keeper{source: source, index: index, interval: interval, observer: observer}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

// sow makes the entries of a seed current until the source has answered. How
// old they are is not known.
func (k *keeper) sow(seed Source) error {
	s, err := seed.Load(k.ctx, "")
	if err != nil {
		return fmt.Errorf("catalog: the seed: %w", err)
	}
	if k.now, err = prepare(s, k.index); err != nil {
		return fmt.Errorf("catalog: the seed: %w", err)
	}
	k.seeded = true
	k.now.loaded = time.Time{}
	return nil
}

// edition implements shelf.
func (k *keeper) edition(ctx context.Context, _ *mcp.CallToolRequest) (*edition, error) {
	return k.current(ctx)
}

// due starts a load if it is time. k.mu is held.
func (k *keeper) due() {
	if k.flight == nil && !k.closed && !time.Now().Before(k.next) {
		k.flight, k.began = make(chan struct{}), time.Now()
		go k.load(k.flight)
	}
}

// held returns the edition, however old, or nil, and starts a load if it is
// due. It never waits.
func (k *keeper) held() *edition {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due()
	return k.now
}

// loadingFor returns for how long the load under way has been going on, or
// zero if none is.
func (k *keeper) loadingFor() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight == nil {
		return 0
	}
	return time.Since(k.began)
}

// current returns the edition as held does, and waits if there is none yet,
// until ctx ends.
func (k *keeper) current(ctx context.Context) (*edition, error) {
	for {
		k.mu.Lock()
		k.due()
		e, flight, err := k.now, k.flight, k.err
		k.mu.Unlock()
		switch {
		case e != nil:
			return e, nil
		case flight == nil:
			if err == nil {
				err = errors.New("catalog: closed")
			}
			return nil, err
		}
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refresh loads now, or waits for the load under way.
func (k *keeper) refresh(ctx context.Context) error {
	k.mu.Lock()
	k.next = time.Time{}
	k.mu.Unlock()
	if _, err := k.current(ctx); err != nil {
		return err
	}
	k.mu.Lock()
	flight := k.flight
	k.mu.Unlock()
	if flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

func (k *keeper) load(done chan struct{}) {
	k.mu.Lock()
	old, have := k.now, ""
	if old != nil && !k.seeded {
		have = old.version
	}
	k.mu.Unlock()
	start := time.Now()
	snapshot, err := k.loadSource(have)
	var fresh *edition
	if err == nil {
		fresh, err = prepare(snapshot, k.index)
		if err == nil && len(fresh.operations) == 0 && len(fresh.problems) > 0 {
			fresh, err = nil, errors.New("catalog: none of the entries is well-formed")
		}
	}
	wait := k.interval + time.Duration((rand.Float64()*.2-.1)*float64(k.interval)) // not all servers at once
	k.mu.Lock()
	switch {
	case fresh != nil:
		k.now, k.err, k.seeded = fresh, nil, false
	case errors.Is(err, ErrUnchanged) && old != nil:
		again := *old
		again.loaded = time.Now()
		k.now, k.err, err = &again, nil, nil
	default:
		k.err = err
		wait = min(wait, retryInterval)
	}
	k.next = time.Now().Add(wait)
	k.mu.Unlock()
	k.report(fresh, old, err, time.Since(start))
	k.mu.Lock()
	k.flight = nil
	close(done)
	k.mu.Unlock()
}

// loadSource calls the source, which is not ours and may panic.
func (k *keeper) loadSource(have string) (s *Snapshot, err error) {
	ctx, cancel := context.WithTimeout(k.ctx, loadTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			s, err = nil, errors.New("catalog: the source panicked")
		}
	}()
	s, err = k.source.Load(ctx, have)
	if err == nil && s == nil {
		err = errors.New("catalog: the source returned nothing")
	}
	return s, err
}

func (k *keeper) report(fresh, old *edition, err error, took time.Duration) {
	ctx := context.Background()
	switch {
	case err != nil:
		e := RefreshFailed{Err: err}
		if old != nil && !old.loaded.IsZero() {
			e.Age = time.Since(old.loaded)
		}
		k.observer.Observe(ctx, e)
	case fresh != nil:
		k.observer.Observe(ctx, Refreshed{Version: fresh.version, Entries: len(fresh.operations), LeftOut: len(fresh.problems), Duration: took})
		fresh.report(ctx, k.observer)
	}
}

// close ends the load under way and waits for it.
func (k *keeper) close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	flight := k.flight
	k.mu.Unlock()
	k.stop()
	if flight == nil {
		return nil
	}
	select {
	case <-flight:
		return nil
	case <-ctx.Done():
		return errors.New("catalog: a load of the entries did not end in time")
	}
}
