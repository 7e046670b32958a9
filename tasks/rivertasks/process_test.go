package rivertasks_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
	"github.com/steadymcp/steady/tasks/taskstest"
)

// The test binary is also the other process: with one of these it does what it
// says instead of testing.
const (
	envStores = "RIVERTASKS_TEST_STORES" // serve stores over the socket of this name
	envWorker = "RIVERTASKS_TEST_WORKER" // be a replica on the database of this DSN
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envStores) != "":
		serveStores(os.Getenv(envStores))
	case os.Getenv(envWorker) != "":
		workUntilKilled(os.Getenv(envWorker))
	default:
		os.Exit(m.Run())
	}
}

// startProcess starts this binary once more and waits until it has said that it
// is ready. It is killed with the test.
func startProcess(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // it ends with us, at the latest
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(lines)
		_ = cmd.Wait()
		require.Empty(t, string(rest), "stdout is not ours, and not River's either")
	})
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

// ready tells the parent, and returns when it is gone.
func ready() {
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestStoreOfTwoProcesses runs the suite on a store whose operations come, by
// turns, from two other processes.
func TestStoreOfTwoProcesses(t *testing.T) {
	var clients []*rpc.Client
	for range 2 {
		dir, err := os.MkdirTemp("", "steady") // t.TempDir is too long for a socket
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		startProcess(t, envStores+"="+socket)
		c, err := rpc.Dial("unix", socket)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	for name, dsn := range databases {
		t.Run(name, func(t *testing.T) {
			s := &remoteStore{dsn: dsn(t), clients: clients}
			for range clients { // so that they do not migrate at once: that has its own test
				s.Epoch()
			}
			t.Cleanup(func() {
				for range clients {
					_, _ = s.do(context.Background(), StoreCall{Op: "close"})
				}
			})
			taskstest.Run(t, func(t *testing.T) tasks.Store {
				empty(t, s.dsn)
				return s
			})
		})
	}
}

// A StoreCall is one operation of a store, and a StoreReply what came of it.
type StoreCall struct {
	DSN, Op, ID, Owner, Worker string
	Now                        time.Time
	Record                     tasks.Record
	Version                    int64
	Limit                      int
}

type StoreReply struct {
	Record  tasks.Record
	Records []tasks.Record
	Created bool
	N       int
	Epoch   string
	Err     string
}

// sentinels are the errors that keep their identity over the wire.
var sentinels = []error{tasks.ErrNotFound, tasks.ErrConflict, tasks.ErrTerminal, tasks.ErrFull, tasks.ErrTooManyKeys}

// remoteStore sends each operation to the next process.
type remoteStore struct {
	dsn     string
	clients []*rpc.Client
	next    atomic.Uint64
}

func (s *remoteStore) do(ctx context.Context, c StoreCall) (StoreReply, error) {
	c.DSN = s.dsn
	var reply StoreReply
	call := s.clients[s.next.Add(1)%uint64(len(s.clients))].Go("Stores.Do", c, &reply, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		return StoreReply{}, ctx.Err()
	case <-call.Done:
	}
	if call.Error != nil {
		return StoreReply{}, call.Error
	}
	if reply.Err == "" {
		return reply, nil
	}
	for _, s := range sentinels {
		if s.Error() == reply.Err {
			return reply, s
		}
	}
	return reply, errors.New(reply.Err)
}

func (s *remoteStore) Epoch() string {
	r, _ := s.do(context.Background(), StoreCall{Op: "epoch"})
	return r.Epoch
}

func (s *remoteStore) Create(ctx context.Context, now time.Time, rec tasks.Record) (tasks.Record, bool, error) {
	r, err := s.do(ctx, StoreCall{Op: "create", Now: now, Record: rec})
	return r.Record, r.Created, err
}

func (s *remoteStore) Get(ctx context.Context, id string) (tasks.Record, error) {
	r, err := s.do(ctx, StoreCall{Op: "get", ID: id})
	return r.Record, err
}

func (s *remoteStore) Update(ctx context.Context, now time.Time, rec tasks.Record) (tasks.Record, error) {
	r, err := s.do(ctx, StoreCall{Op: "update", Now: now, Record: rec})
	return r.Record, err
}

func (s *remoteStore) Delete(ctx context.Context, id string, version int64) error {
	_, err := s.do(ctx, StoreCall{Op: "delete", ID: id, Version: version})
	return err
}

func (s *remoteStore) Watch(ctx context.Context, id string, after int64) (tasks.Record, error) {
	r, err := s.do(ctx, StoreCall{Op: "watch", ID: id, Version: after})
	return r.Record, err
}

func (s *remoteStore) Running(ctx context.Context, owner string, limit int) ([]tasks.Record, error) {
	r, err := s.do(ctx, StoreCall{Op: "running", Owner: owner, Limit: limit})
	return r.Records, err
}

func (s *remoteStore) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	r, err := s.do(ctx, StoreCall{Op: "sweep", Now: now, Limit: limit})
	return r.N, err
}

func (s *remoteStore) Beat(ctx context.Context, worker string, until time.Time) error {
	_, err := s.do(ctx, StoreCall{Op: "beat", Worker: worker, Now: until})
	return err
}

func (s *remoteStore) Lost(ctx context.Context, now time.Time, limit int) ([]tasks.Record, error) {
	r, err := s.do(ctx, StoreCall{Op: "lost", Now: now, Limit: limit})
	return r.Records, err
}

// Stores is the other end.
type Stores struct {
	mu     sync.Mutex
	stores map[string]*rivertasks.Store
}

func serveStores(socket string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	server := rpc.NewServer()
	if err := server.Register(&Stores{stores: map[string]*rivertasks.Store{}}); err != nil {
		panic(err)
	}
	go server.Accept(l)
	ready()
}

func (s *Stores) store(dsn string) (*rivertasks.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores[dsn] == nil {
		store, err := rivertasks.Open(context.Background(), dsn, &rivertasks.Options{Observer: observe.Discard})
		if err != nil {
			return nil, err
		}
		s.stores[dsn] = store
	}
	return s.stores[dsn], nil
}

func (s *Stores) Do(c StoreCall, reply *StoreReply) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := s.store(c.DSN)
	if err == nil {
		switch c.Op {
		case "epoch":
			reply.Epoch = store.Epoch()
		case "create":
			reply.Record, reply.Created, err = store.Create(ctx, c.Now, c.Record)
		case "get":
			reply.Record, err = store.Get(ctx, c.ID)
		case "update":
			reply.Record, err = store.Update(ctx, c.Now, c.Record)
		case "delete":
			err = store.Delete(ctx, c.ID, c.Version)
		case "watch":
			reply.Record, err = store.Watch(ctx, c.ID, c.Version)
		case "running":
			reply.Records, err = store.Running(ctx, c.Owner, c.Limit)
		case "sweep":
			reply.N, err = store.Sweep(ctx, c.Now, c.Limit)
		case "beat":
			err = store.Beat(ctx, c.Worker, c.Now)
		case "lost":
			reply.Records, err = store.Lost(ctx, c.Now, c.Limit)
		case "close":
			s.mu.Lock()
			delete(s.stores, c.DSN)
			s.mu.Unlock()
			err = store.Close(ctx)
		}
	}
	if err != nil {
		reply.Err = err.Error()
		for _, sentinel := range sentinels {
			if errors.Is(err, sentinel) {
				reply.Err = sentinel.Error()
			}
		}
	}
	return nil
}

// crashPolicies are those of the replicas that are killed.
var crashPolicies = map[string]tasks.Policy{
	"safe":    {Grace: tasks.Eager, RunAgain: true},
	"unsafe":  {Grace: tasks.Eager},
	"ask":     {Grace: tasks.Eager, RunAgain: true},
	"rounds":  {Grace: tasks.Eager, Rounds: true},
	"waiting": {RunAgain: true, Grace: 100 * time.Millisecond},
}

// crashTools adds tools that hang in a process that is to be killed, and say in the
// other one that they were run there.
func crashTools(hang bool) func(*tasks.Manager, *mcp.Server) {
	return func(_ *tasks.Manager, s *mcp.Server) {
		work := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if hang {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return text("done " + string(req.Params.Arguments)), nil
		}
		tool(s, "safe", work)
		tool(s, "unsafe", work)
		tool(s, "waiting", work)
		tool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tasks.SetStatus(ctx, "asking")
			res, err := tasks.Elicit(ctx, &mcp.ElicitParams{Message: "Which?", RequestedSchema: map[string]any{"type": "object"}})
			if err != nil {
				return nil, err
			}
			return text(fmt.Sprint("chose ", res.Content["which"])), nil
		})
		tool(s, "rounds", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{RequestState: "first", InputRequests: mcp.InputRequestMap{
					"which": &mcp.ElicitParams{Message: "Which?", RequestedSchema: map[string]any{"type": "object"}},
				}}, nil
			}
			answer := req.Params.InputResponses["which"].(*mcp.ElicitResult)
			return text(fmt.Sprint(req.Params.RequestState, " then ", answer.Content["which"])), nil
		})
	}
}

func workUntilKilled(dsn string) {
	store, err := rivertasks.Open(context.Background(), dsn, nil)
	if err != nil {
		panic(err)
	}
	m := tasks.New(&tasks.Options{Store: store, Policies: crashPolicies, Owner: func(mcp.Request) string { return "ada" }})
	server := mcp.NewServer(&mcp.Implementation{Name: "victim"}, nil)
	crashTools(true)(m, server)
	if err := m.Install(server); err != nil {
		panic(err)
	}
	ready()
}

// TestKilledWorker: what a process ran is noticed when it is killed, and by policy
// run again or failed; what waited for input waits on.
func TestKilledWorker(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		// The calls come from a replica that runs nothing, so that the victim does.
		front := startReplica(t, dsn, &rivertasks.Options{Workers: rivertasks.NoWorkers}, crashPolicies, crashTools(false))
		victim := startProcess(t, envWorker+"="+dsn)

		safe, unsafe := front.start("safe", map[string]any{"n": 1}), front.start("unsafe", nil)
		ask, rounds := front.start("ask", nil), front.start("rounds", nil)
		waiting := front.start("waiting", nil) // after its grace
		var worker string
		for _, id := range []string{safe, unsafe, waiting} {
			worker = front.await(id, func(r tasks.Record) bool { return r.Worker != "" }).Worker
		}
		front.await(ask, func(r tasks.Record) bool { return r.Status == tasks.InputRequired && r.Worker == worker })
		front.await(rounds, func(r tasks.Record) bool { return r.Status == tasks.InputRequired && r.Worker == "" })

		require.NoError(t, victim.Process.Signal(syscall.SIGKILL))
		killed := time.Now()
		survivor := startReplica(t, dsn, nil, crashPolicies, crashTools(false))
		require.Equal(t, `done {"n":1}`, textOf(survivor.result(safe)))
		t.Log("run again and done after", time.Since(killed))
		require.Equal(t, "done null", textOf(survivor.result(waiting)))
		res := survivor.result(unsafe)
		require.True(t, res.IsError)
		require.Contains(t, textOf(res), "Whether the work was done is not known")

		rec := front.await(ask, func(r tasks.Record) bool { return r.Worker == "" })
		require.Equal(t, tasks.InputRequired, rec.Status)
		for _, id := range []string{ask, rounds} {
			rec := front.record(id)
			answers := map[string]any{}
			for key := range rec.InputRequests {
				answers[key] = map[string]any{"action": "accept", "content": map[string]any{"which": "this"}}
			}
			require.Len(t, answers, 1)
			res := front.call("task_answer", map[string]any{"task_id": id, "answers": answers})
			require.False(t, res.IsError, textOf(res))
		}
		require.Equal(t, "chose this", textOf(survivor.result(ask)))
		require.Equal(t, "first then this", textOf(survivor.result(rounds)))
	})
}
