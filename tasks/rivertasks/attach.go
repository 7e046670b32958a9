package rivertasks

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/steadymcp/steady/tasks"
)

// An attachment is the part that one process takes, or one of several managers in
// it.
type attachment struct {
	s    *Store
	p    tasks.Process
	host string

	life context.Context // ends with Detach
	end  context.CancelFunc
	work sync.WaitGroup

	lock lock // non-nil while held
	seen map[string]*sighting
	last time.Time // when the others were last looked at

	mu       sync.Mutex
	worker   worker // nil until River has started, and with NoWorkers
	draining chan struct{}
	drain    sync.Once
	stopped  chan struct{} // closed when River has stopped, or was never started
	detach   sync.Once
}

// RunsHere implements [tasks.Dispatcher].
func (s *Store) RunsHere() bool { return s.opts.Workers != NoWorkers }

// Attach implements [tasks.Dispatcher].
func (s *Store) Attach(p tasks.Process) (tasks.Attachment, error) {
	if s.life.Err() != nil {
		return nil, errors.New("rivertasks: the store is closed")
	}
	for tool := range p.Tools {
		s.named.Store(tool, true)
	}
	s.attached.Store(p.Worker, true)
	a := &attachment{s: s, p: p, seen: map[string]*sighting{}, draining: make(chan struct{}), stopped: make(chan struct{})}
	a.host, _ = os.Hostname()
	a.life, a.end = context.WithCancel(context.Background())
	// Before it is known to be alive it must not claim anything.
	first, cancel := context.WithTimeout(a.life, s.opts.Lease)
	s.report(a.life, "beat", a.beat(first))
	cancel()
	a.work.Go(a.live)
	a.work.Go(a.runJobs)
	return a, nil
}

// runJobs starts River, as soon as the database answers, and stops it.
func (a *attachment) runJobs() {
	defer close(a.stopped)
	if !a.s.RunsHere() {
		return
	}
	cfg := workConfig{id: a.p.Worker, workers: a.s.opts.Workers, logger: riverLogger(a.s.observer), tools: a.p.Tools, start: a.p.Start, again: a.again}
	for {
		w, err := a.s.db.start(cfg)
		if err == nil {
			a.mu.Lock()
			a.worker = w
			a.mu.Unlock()
			<-a.draining
			_ = w.Stop(a.life)
			if a.life.Err() != nil { // some have not returned
				last, cancel := context.WithTimeout(context.Background(), 5*time.Second) // for a database that is away
				_ = w.StopAndCancel(last)
				cancel()
			}
			return
		}
		a.s.report(a.life, "work", err)
		select {
		case <-time.After(time.Second):
		case <-a.draining:
			return
		}
	}
}

// again offers a run once more that was handed out by the job of the given id, unless
// it has moved on.
func (a *attachment) again(ctx context.Context, j job, id int64, queue string) error {
	return a.s.db.write(ctx, func(ctx context.Context, t tx) error {
		waits, err := exists(ctx, t, `SELECT 1 FROM mcp_task t WHERE t.id = $1 AND t.run = $2 AND t.job_id = $3 AND `+waiting+` `+
			a.s.db.dialect().forUpdate, j.Task, j.Run, id)
		if err != nil || !waits {
			return err
		}
		next, err := t.enqueue(ctx, j, queue)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE mcp_task SET job_id = $1 WHERE id = $2`, next, j.Task)
		return err
	})
}

// Drain implements [tasks.Attachment].
func (a *attachment) Drain() { a.drain.Do(func() { close(a.draining) }) }

// Detach implements [tasks.Attachment].
func (a *attachment) Detach(ctx context.Context) {
	a.Drain()
	select {
	case <-a.stopped:
	case <-ctx.Done():
	}
	a.detach.Do(func() {
		a.end()
		a.work.Wait()
		a.s.attached.Delete(a.p.Worker)
		a.leave(ctx)
	})
}

// leave removes the worker if it has nothing left. Otherwise the others find out
// that it is gone when it is: what it runs may still run.
func (a *attachment) leave(ctx context.Context) {
	select {
	case <-a.stopped:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.s.opts.Lease)
	defer cancel()
	var left bool
	err := a.s.db.write(ctx, func(ctx context.Context, t tx) (err error) {
		if left, err = exists(ctx, t, `SELECT 1 FROM mcp_task t WHERE t.worker = $1 AND t.worker <> '' LIMIT 1`, a.p.Worker); err != nil || left {
			return err
		}
		_, err = t.exec(ctx, `DELETE FROM mcp_worker WHERE id = $1 AND until IS NULL`, a.p.Worker)
		return err
	})
	a.s.report(ctx, "leave", err)
	if a.lock != nil && err == nil && !left {
		a.lock.release()
	}
}
