//go:build unix

package replicas

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// settings are what a replica is told, in the environment variable of this name.
type settings struct {
	DSN     string
	Effects string // where the tools have their effect; if empty, DSN
	Locks   string // folder with a lock for each job
	// Patience is how long work may go on after SIGTERM; if zero, 200 ms.
	Patience time.Duration
}

// inMemory, as a DSN, is a replica that keeps its tasks in memory: to compare with.
const inMemory = "memory"

const settingsVariable = "STEADY_REPLICA"

func TestMain(m *testing.M) {
	told := os.Getenv(settingsVariable)
	if told == "" {
		os.Exit(m.Run())
	}
	var s settings
	err := json.Unmarshal([]byte(told), &s)
	if err == nil {
		err = s.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
}

// serve runs a replica until SIGTERM. It prints its address, and nothing else
// must ever come out of standard output.
func (s *settings) serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // the test holds the other end: nothing outlives it, however it ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	opts := &tasks.Options{Policies: policies}
	w := &worker{locks: s.Locks}
	closeStore := func(context.Context) error { return nil }
	if s.DSN != inMemory {
		store, err := rivertasks.Open(ctx, s.DSN, nil)
		if err != nil {
			return err
		}
		opts.Store, closeStore = store, store.Close
		if w.ledger, err = openLedger(cmp.Or(s.Effects, s.DSN)); err != nil {
			return err
		}
		defer w.ledger.close()
	}
	m := tasks.New(opts)
	server := mcp.NewServer(&mcp.Implementation{Name: "replica", Version: "v1.0.0"}, nil)
	if err := m.Install(server); err != nil {
		return err
	}
	mcp.AddTool(server, &mcp.Tool{Name: "record"}, w.record)
	mcp.AddTool(server, &mcp.Tool{Name: "once"}, w.once)
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, w.ask)
	mcp.AddTool(server, &mcp.Tool{Name: "nothing"}, nothing)

	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &http.Server{Handler: auth.RequireBearerToken(verify, nil)(m.Handler(streamable))}
	go h.Serve(listener)
	fmt.Println(listener.Addr())

	<-ctx.Done()
	// In the order of what uses what: calls, tasks, store.
	draining, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.Shutdown(draining) != nil {
		_ = h.Close()
	}
	closing, cancel := context.WithTimeout(context.Background(), cmp.Or(s.Patience, 200*time.Millisecond))
	defer cancel()
	err = m.Close(closing)
	var abandoned *tasks.AbandonedError
	if errors.As(err, &abandoned) { // on a busy machine; the others find out
		fmt.Fprintln(os.Stderr, "replica:", err)
		err = nil
	}
	end, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return errors.Join(err, closeStore(end))
}

// policies make a job one call, whatever its note and key.
var policies = map[string]tasks.Policy{
	"record":  {Grace: tasks.Eager, Identity: tasks.By(jobOf), RunAgain: true, Concurrency: tasks.Unlimited, Queue: 1 << 20},
	"once":    {Grace: tasks.Eager, Identity: tasks.By(jobOf), Concurrency: tasks.Unlimited, Queue: 1 << 20},
	"ask":     {Grace: tasks.Eager, Identity: tasks.By(jobOf), RunAgain: true},
	"nothing": {Grace: tasks.Eager, Identity: tasks.By(jobOf)},
}

type jobInput struct {
	Job    string `json:"job"`
	Millis int    `json:"millis,omitempty"` // how long it takes
	First  int    `json:"first,omitempty"`  // how many milliseconds its first run takes instead
	Status string `json:"status,omitempty"` // what it says meanwhile
	Note   string `json:"note,omitempty"`   // differs between calls that are the same
	Key    string `json:"idempotency_key,omitempty"`
}

func jobOf(in jobInput) string { return in.Job }

// worker has the tools.
type worker struct {
	ledger *ledger
	locks  string
}

// alone runs f while no other process works on the same job, and writes down if
// one does. The lock is the kernel's, so it ends with a process that is killed.
func (w *worker) alone(ctx context.Context, in jobInput, f func() error) error {
	lock, err := os.OpenFile(filepath.Join(w.locks, in.Job), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	task, run, _ := tasks.RunOf(ctx)
	who := fmt.Sprintf("%s run %d in %d", task, run, os.Getpid())
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		if err := errors.Join(lock.Truncate(0), writeAt(lock, who)); err != nil {
			return err
		}
	case syscall.EWOULDBLOCK:
		other, _ := os.ReadFile(lock.Name())
		note := fmt.Sprintf("%v: %s, while it is held by %s; the context: %v\n", time.Now(), who, other, ctx.Err())
		if err := os.WriteFile(filepath.Join(w.locks, fmt.Sprintf("OVERLAP-%s-%d", in.Job, os.Getpid())), []byte(note), 0o644); err != nil {
			return err
		}
	default:
		return err
	}
	return f()
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func (in *jobInput) work(ctx context.Context) error {
	if in.Status != "" {
		tasks.SetStatus(ctx, "%s", in.Status)
	}
	millis := in.Millis
	if _, run, _ := tasks.RunOf(ctx); run == 1 && in.First > 0 {
		millis = in.First
	}
	select {
	case <-time.After(time.Duration(millis) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type jobOutput struct {
	Job string `json:"job"`
	Run int64  `json:"run"`
	PID int    `json:"pid"`
}

// record has its effect in the database of the tasks, behind the number of its
// run, and may be run again.
func (w *worker) record(ctx context.Context, _ *mcp.CallToolRequest, in jobInput) (*mcp.CallToolResult, jobOutput, error) {
	id, run, ok := tasks.RunOf(ctx)
	if !ok {
		return nil, jobOutput{}, errors.New("not a task")
	}
	err := w.alone(ctx, in, func() error {
		if err := in.work(ctx); err != nil {
			return err
		}
		return w.ledger.fenced(ctx, id, run, in.Job)
	})
	return nil, jobOutput{Job: in.Job, Run: run, PID: os.Getpid()}, err
}

// once has an effect that cannot be taken back or checked, and must not be run
// again.
func (w *worker) once(ctx context.Context, _ *mcp.CallToolRequest, in jobInput) (*mcp.CallToolResult, jobOutput, error) {
	id, run, ok := tasks.RunOf(ctx)
	if !ok {
		return nil, jobOutput{}, errors.New("not a task")
	}
	err := w.alone(ctx, in, func() error {
		if err := w.ledger.plain(ctx, id, run, in.Job); err != nil {
			return err
		}
		return in.work(ctx)
	})
	return nil, jobOutput{Job: in.Job, Run: run, PID: os.Getpid()}, err
}

func nothing(context.Context, *mcp.CallToolRequest, jobInput) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
}

// ask is record, if the user says so.
func (w *worker) ask(ctx context.Context, req *mcp.CallToolRequest, in jobInput) (*mcp.CallToolResult, jobOutput, error) {
	answer, err := tasks.Elicit(ctx, &mcp.ElicitParams{
		Message:         "Shall " + in.Job + " be done?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`),
	})
	if err != nil {
		return nil, jobOutput{}, err
	}
	if answer.Action != "accept" {
		return nil, jobOutput{}, errors.New("not confirmed")
	}
	return w.record(ctx, req, in)
}
