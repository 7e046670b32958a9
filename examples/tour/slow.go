package main

import (
	"context"
	"errors"
	"strings"
	"time"
)

func slow() *mistake {
	return &mistake{
		Number: 5,
		Title:  "A request that outlives the client",
		About: "Every client has a timeout, and every host calls again. The work knows of neither: it goes on, and is done twice, " +
			"while the model is told that it has failed twice.",
		Scenes: []*scene{
			{Name: "timeout", Code: "export_orders takes 2 s; the client waits for 1 s, and calls again", play: timeout},
			{Name: "bucket", Code: "the same, and the bucket does not take the first file", play: bucket},
		},
	}
}

const (
	exportTakes = 2 * time.Second
	patience    = time.Second // the client's
)

// slowExport are the flags of these servers. The grace is to the client's
// patience as the usual 5 s are to the 20 s and more of real clients.
func slowExport(bug string) []string {
	return []string{"-export-takes", "2s", "-bug", bug}
}

func timeout(t *tour, s *scene) error {
	if err := t.without(s, slowExport("heedless"), func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		first, again := t.export(server), t.export(server)
		r.expect(first.timedOut() && again.timedOut(), "Both calls end at the client's timeout, as failures:")
		r.quote(again.text())
		written, err := t.written(server, 2)
		r.expect(err == nil && written == 2, "Two files were written.")
		return err
	}); err != nil {
		return err
	}
	if err := t.with(s, withGrace(slowExport("heedless")), func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		first := t.export(server)
		r.expect(first.done() && first.task() != "", "A client that knows nothing of tasks gets an answer in time, and what to call next:")
		r.quote(first.text())
		again := t.export(server)
		note, _, _ := strings.Cut(again.text(), "\n")
		r.expect(again.task() != "" && again.task() == first.task() && strings.Contains(note, "Not started again"), "The second call joins the first:")
		r.quote(note)
		file := t.result(server, first)
		written, err := t.written(server, 1)
		r.expect(err == nil && file.done() && strings.Contains(file.text(), `"sha256"`) && written == 1, "task_result waits for the file. One was written.")
		return err
	}); err != nil {
		return err
	}
	return t.with(s, withGrace(slowExport("heedless")), func(server *server, r *run) error {
		if err := server.connectWithTasks(t.ctx); err != nil {
			return err
		}
		start := time.Now()
		first := t.exportWithin(server, callTimeout)
		took := time.Since(start)
		wait := server.wire.longestWait()
		r.expect(first.done() && strings.Contains(first.text(), `"sha256"`) && took > exportTakes && wait > 0 && wait < patience,
			"A client with the extension: its caller gets the file in one call, of %.1f s; no request of it waited longer than %.1f s.", took.Seconds(), wait.Seconds())
		again := t.export(server)
		_, note, _ := strings.Cut(again.text(), "\n")
		written, err := t.written(server, 1)
		r.expect(err == nil && again.done() && strings.Contains(again.text(), `"sha256"`) && written == 1, "The second call gets the same file. One was written.")
		r.quote(note)
		return err
	})
}

func bucket(t *tour, s *scene) error {
	if err := t.without(s, slowExport("bucket,heedless"), func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		first, again := t.export(server), t.export(server)
		r.expect(first.timedOut() && again.timedOut(), "Both calls end at the client's timeout. They look alike:")
		r.quote(first.text())
		r.quote(again.text())
		written, err := t.written(server, 1)
		r.expect(err == nil && written == 1, "One has failed and one has written a file; nobody is told which.")
		return err
	}); err != nil {
		return err
	}
	if err := t.with(s, withGrace(slowExport("bucket,heedless")), func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		first := t.export(server)
		failed := t.result(server, first)
		r.expect(failed.refused() && strings.Contains(failed.text(), "bucket"), "task_result says that the first has failed, and what to do:")
		r.quote(failed.text())
		again := t.export(server)
		file := t.result(server, again)
		written, err := t.written(server, 1)
		r.expect(err == nil && again.task() != "" && again.task() != first.task() && file.done() && strings.Contains(file.text(), `"sha256"`) && written == 1,
			"A failure is not joined: the second call starts anew. One file was written.")
		return err
	}); err != nil {
		return err
	}
	return t.with(s, withGrace(slowExport("bucket,heedless")), func(server *server, r *run) error {
		if err := server.connectWithTasks(t.ctx); err != nil {
			return err
		}
		failed, file := t.exportWithin(server, callTimeout), t.exportWithin(server, callTimeout)
		written, err := t.written(server, 1)
		r.expect(err == nil && failed.refused() && strings.Contains(failed.text(), "bucket") && file.done() && written == 1 && server.wire.longestWait() < patience,
			"With the extension the first call returns that failure, and the second the file.")
		return err
	})
}

// withGrace lets the server answer in time for this client.
func withGrace(args []string) []string { return append(args, "-grace", "100ms") }

func (t *tour) export(server *server) answer { return t.exportWithin(server, patience) }

func (t *tour) exportWithin(server *server, timeout time.Duration) answer {
	result, err := server.callWithin(t.ctx, timeout, "export_orders", arguments{"status": "paid"})
	return answer{result, err}
}

// result asks for the file of an export that goes on.
func (t *tour) result(server *server, export answer) answer {
	result, err := server.call(t.ctx, "task_result", arguments{"task_id": export.task()})
	return answer{result, err}
}

// written waits until as many files were written as are wanted, and a little for
// those that are not, and returns how many there are.
func (t *tour) written(server *server, want int) (written int, err error) {
	count := func() error {
		result, err := server.call(t.ctx, "exports_written", arguments{})
		if err != nil {
			return err
		}
		var got struct{ Written int }
		err = structured(result, &got)
		written = got.Written
		return err
	}
	for deadline := time.Now().Add(2 * exportTakes); err == nil && written < want && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		err = count()
	}
	if err == nil {
		time.Sleep(patience / 2)
		err = count()
	}
	return written, err
}

func (a answer) timedOut() bool { return errors.Is(a.err, context.DeadlineExceeded) }

func (a answer) done() bool { return a.err == nil && !a.result.IsError }

// task returns the handle in an answer, or "".
func (a answer) task() string {
	var handle struct {
		Task struct {
			ID string `json:"taskId"`
		}
	}
	if a.done() {
		_ = structured(a.result, &handle) // a client without the extension sees it there
	}
	return handle.Task.ID
}
