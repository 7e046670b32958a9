package rivertasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// anyTool is River's queue for runs of tools whose policy is not known by name. Each
// of the others has a queue of its own: a process takes from it what it has room
// for, and a tool that is busy does not keep others waiting.
const anyTool = "mcp_tasks"

func queueOf(tool string) string { return fmt.Sprintf("mcp_task_%x", digest(tool)[:8]) }

// A job is one run of a task. River has one kind of them: which tool it is, only
// the record knows, so that no process discards a job because of its kind.
type job struct {
	Task string `json:"task"`
	Run  int64  `json:"run"`
}

func (job) Kind() string { return "mcp_task" }

// InsertOpts lets River try once: another try is another run, which only the
// record's owner may begin.
func (job) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 1} }

// queue is River, for a driver whose transactions are TTx.
type queue[TTx any] struct{ inserter *river.Client[TTx] }

func newQueue[TTx any](driver riverdriver.Driver[TTx], logger *slog.Logger) (*queue[TTx], error) {
	// River announces inserts at most once per FetchCooldown; a job that was not
	// announced waits for the next poll.
	client, err := river.NewClient(driver, &river.Config{Logger: logger, FetchCooldown: time.Millisecond})
	if err != nil {
		return nil, err
	}
	return &queue[TTx]{client}, nil
}

func (q *queue[TTx]) insert(ctx context.Context, t TTx, j job, queue string) (int64, error) {
	res, err := q.inserter.InsertTx(ctx, t, j, &river.InsertOpts{Queue: queue})
	if err != nil {
		return 0, err
	}
	return res.Job.ID, nil
}

func (q *queue[TTx]) cancel(ctx context.Context, t TTx, id int64) error {
	_, err := q.inserter.JobCancelTx(ctx, t, id)
	if errors.Is(err, rivertype.ErrNotFound) { // River has deleted it
		return nil
	}
	return err
}

// workConfig is how a process works on jobs.
type workConfig struct {
	id      string
	workers int
	tools   map[string]int
	logger  *slog.Logger
	start   func(ctx context.Context, id string, run int64) error
	again   func(ctx context.Context, j job, id int64, queue string) error
}

// queues are those that the process takes runs from.
func (c *workConfig) queues() map[string]river.QueueConfig {
	queues := map[string]river.QueueConfig{anyTool: {MaxWorkers: c.workers}}
	for tool, most := range c.tools {
		n := c.workers
		if most > 0 {
			n = min(n, most)
		}
		queues[queueOf(tool)] = river.QueueConfig{MaxWorkers: n}
	}
	return queues
}

// A worker is a River client that works.
type worker interface {
	// Stop fetches no more jobs and waits for those that run; when ctx is done it
	// gives up waiting.
	Stop(ctx context.Context) error
	// StopAndCancel is Stop, and cancels the jobs' contexts.
	StopAndCancel(ctx context.Context) error
}

func (q *queue[TTx]) start(driver riverdriver.Driver[TTx], cfg workConfig) (worker, error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &jobWorker{start: cfg.start, again: cfg.again}); err != nil {
		return nil, err
	}
	queues := cfg.queues()
	client, err := river.NewClient(driver, &river.Config{
		ID:      cfg.id,
		Logger:  cfg.logger,
		Workers: workers,
		Queues:  queues,

		// See newQueue. Polls find what was not announced; each queue has its own.
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: min(time.Second, time.Duration(len(queues))*125*time.Millisecond),

		// The record says how long a run may take, and whether there is another. What
		// is left to River's rescuer are the rows of jobs that we have cancelled and
		// whose worker is gone.
		JobTimeout:           -1,
		RescueStuckJobsAfter: time.Minute,
		MaxAttempts:          1,

		// Nothing of interest is in a job that has ended.
		CompletedJobRetentionPeriod: time.Hour,
		CancelledJobRetentionPeriod: time.Hour,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(context.Background())
}

type jobWorker struct {
	river.WorkerDefaults[job]
	start func(ctx context.Context, id string, run int64) error
	again func(ctx context.Context, j job, id int64, queue string) error
}

// elsewhere is when a run is offered again that this process could not start. It
// is random, because otherwise the same process, whose polls have a rhythm, would
// be first again and again.
func elsewhere() time.Duration { return 50*time.Millisecond + rand.N(450*time.Millisecond) }

// Work starts a run. One that this process could not start is offered again as a
// new job: River would put off the old one by the clock of this process, and the
// others take it by that of the database.
func (w *jobWorker) Work(ctx context.Context, j *river.Job[job]) error {
	err := w.start(ctx, j.Args.Task, j.Args.Run)
	for err != nil {
		select {
		case <-time.After(elsewhere()):
			err = w.again(ctx, j.Args, j.ID, j.Queue)
		case <-ctx.Done(): // the process stops; if it cannot say so, the others find out
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = w.again(last, j.Args, j.ID, j.Queue)
			return nil
		}
	}
	return nil
}

// newerRiver returns an error if the database has a migration of River's that is
// not among known. River itself takes no offence at it; the error that it has when
// it lists them is err.
func newerRiver(ctx context.Context, q querier, known []rivermigrate.Migration, err error) error {
	if err == nil {
		return nil
	}
	newest := 0
	for _, m := range known {
		newest = max(newest, m.Version)
	}
	var have int
	if _, e := scanOne(ctx, q, `SELECT max(version) FROM river_migration`, nil, &have); e != nil || have <= newest {
		return fmt.Errorf("reading River's migrations: %w", err)
	}
	return &NewerError{Have: have, Want: newest, River: true}
}
