package rivertasks

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// watched are the tasks that somebody in this process waits for a change of.
type watched struct {
	mu     sync.Mutex
	topics map[string]*topic
}

type topic struct {
	changed chan struct{} // closed at the next change
	waiting int
	after   int64 // the lowest version that somebody knows
}

// wait returns a channel that is closed when the task changes from now on, or
// sometimes without reason, and what to call afterwards.
func (w *watched) wait(id string, after int64) (changed <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics == nil {
		w.topics = map[string]*topic{}
	}
	t := w.topics[id]
	if t == nil {
		t = &topic{changed: make(chan struct{}), after: after}
		w.topics[id] = t
	}
	t.waiting++
	t.after = min(t.after, after)
	return t.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.waiting--; t.waiting == 0 && w.topics[id] == t {
			delete(w.topics, id)
		}
	}
}

// wake wakes those who wait for a task, or all if id is "".
func (w *watched) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == "" {
		for _, t := range w.topics {
			close(t.changed)
		}
		clear(w.topics)
		return
	}
	if t := w.topics[id]; t != nil {
		close(t.changed)
		delete(w.topics, id)
	}
}

// known returns, for each task that is waited for, the version that is known.
func (w *watched) known() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := make(map[string]int64, len(w.topics))
	for id, t := range w.topics {
		known[id] = t.after
	}
	return known
}

// floor is how often the store looks for changes that it was not told of.
const floor = time.Second

// watch tells those who wait of the changes that other processes make.
func (s *Store) watch(ctx context.Context) {
	s.work.Go(func() { s.db.listen(ctx, s.watched.wake) })
	s.work.Go(func() {
		tick := time.NewTicker(floor)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.report(ctx, "watch", s.look(ctx))
			case <-ctx.Done():
				return
			}
		}
	})
}

// look wakes those whose task has a later version than they know, or is gone.
func (s *Store) look(ctx context.Context) error {
	const batch = 200
	known := s.watched.known()
	for ids := range slices.Chunk(slices.Collect(maps.Keys(known)), batch) {
		var list strings.Builder
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = id
			if i > 0 {
				list.WriteString(", ")
			}
			list.WriteString("$" + strconv.Itoa(i+1))
		}
		rows, err := s.db.read().query(ctx, `SELECT id, version FROM mcp_task WHERE id IN (`+list.String()+`)`, args...)
		if err != nil {
			return err
		}
		have := map[string]int64{}
		for rows.Next() {
			var id string
			var version int64
			if err := rows.Scan(&id, &version); err != nil {
				rows.Close()
				return err
			}
			have[id] = version
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		for _, id := range ids {
			if version, ok := have[id]; !ok || version > known[id] {
				s.watched.wake(id)
			}
		}
	}
	return nil
}
