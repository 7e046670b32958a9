package steady_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// runVariable makes the test program a server, which is what main would be.
const runVariable = "STEADY_TEST_RUN"

// notifyVariable makes the server end its context by signals as well, as many a
// main does. SIGHUP ends nothing but that.
const notifyVariable = "STEADY_TEST_NOTIFY"

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) == "" {
		os.Exit(m.Run())
	}
	if err := runMain(); err != nil {
		fmt.Fprintln(os.Stderr, "main:", err)
		os.Exit(1)
	}
}

// runMain is a server like a user's: it prints, and one of its tools is slow.
func runMain() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "v1.0.0"}, nil)
	type input struct {
		Takes  string `json:"takes,omitempty"`
		Defies bool   `json:"defies,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "read_note", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			fmt.Println("stray line")
			takes, err := time.ParseDuration("0" + in.Takes)
			if err != nil {
				return nil, nil, err
			}
			fmt.Fprintln(os.Stderr, "reading")
			if in.Defies {
				ctx = context.WithoutCancel(ctx)
			}
			select {
			case <-time.After(takes):
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the note"}}}, nil, nil
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "cancelled:", context.Cause(ctx))
				return nil, nil, context.Cause(ctx)
			}
		})
	mcp.AddTool(server, &mcp.Tool{Name: "export_notes"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		time.Sleep(500 * time.Millisecond) // longer than it takes to ask for news of it
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "exported"}}}, nil, nil
	})
	stop, err := time.ParseDuration(os.Getenv(runVariable))
	if err != nil {
		return err
	}
	if _, err := steady.Wrap(server, &steady.Options{
		Tasks: &tasks.Options{Anonymous: true, Policies: map[string]tasks.Policy{"export_notes": {Grace: tasks.Eager}}},
	}); err != nil {
		return err
	}
	opts := &steady.RunOptions{StopWindow: stop}
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	ctx := context.Background()
	if os.Getenv(notifyVariable) != "" {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	return steady.Run(ctx, server, opts)
}

// A program is a server that runs as a process.
type program struct {
	cmd    *exec.Cmd
	url    string
	exited chan error

	mu  sync.Mutex
	log strings.Builder
}

var servingLine = regexp.MustCompile(`steady\.serving url=(http://\S+)`)

// start starts the server on HTTP, on a free port of the loopback address.
func start(t *testing.T, window string, env ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], "-http=127.0.0.1:0"), exited: make(chan error, 1)}
	p.cmd.Env = append(append(os.Environ(), runVariable+"="+window), env...)
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	url := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		p.exited <- p.cmd.Wait()
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	select {
	case p.url = <-url:
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not say where it serves:\n", p.stderr())
	}
	return p
}

func (p *program) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// says waits for text on standard error.
func (p *program) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.stderr(), text) }, 30*time.Second, 5*time.Millisecond, "%q in:\n%s", text, p.stderr())
}

// ends waits for the end of the process.
func (p *program) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.exited:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not end:\n", p.stderr())
		return nil
	}
}

// connectTo connects the SDK's client over HTTP.
func connectTo(t *testing.T, url, revision string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// SIGTERM lets a call in flight finish, and only that.
func TestRunHTTPFinishesCallsInFlight(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(revision+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				p := start(t, "20s")
				cs, late := connectTo(t, p.url, revision), connectTo(t, p.url, revision)
				answer := make(chan string, 1)
				go func() { answer <- readFor(cs, "1s") }()
				p.says(t, "reading")
				require.NoError(t, p.cmd.Process.Signal(s))
				p.says(t, "steady.draining")
				_, err := late.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_note"})
				require.Error(t, err)
				require.Equal(t, "the note", <-answer)
				start := time.Now()
				require.NoError(t, p.ends(t))
				require.Less(t, time.Since(start), 10*time.Second, "the streams of idle clients are not waited for")
				require.NotContains(t, p.stderr(), "cancelled:")
			})
		}
	}
}

// A signal that ends Run's context as well is one signal, whichever of the two
// arrives first.
func TestRunHTTPCountsASignalOnce(t *testing.T) {
	t.Parallel()
	times := 6
	if os.Getenv("STEADY_LONG") != "" {
		times = 60
	}
	for i := range times {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := start(t, "60s", notifyVariable+"=1")
			cs := connectTo(t, p.url, mcptest.Revisions[i%len(mcptest.Revisions)])
			answer := make(chan string, 1)
			go func() { answer <- readFor(cs, "2s") }()
			p.says(t, "reading")
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			require.Equal(t, "the note", <-answer, p.stderr())
			require.NoError(t, p.ends(t))
		})
	}
	t.Run("the context first", func(t *testing.T) {
		t.Parallel()
		p := start(t, "60s", notifyVariable+"=1")
		short, long := connectTo(t, p.url, mcptest.Stateless), connectTo(t, p.url, mcptest.Stateless)
		answers := make(chan string, 1)
		go func() { answers <- readFor(short, "2s") }()
		go readFor(long, "60s")
		require.Eventually(t, func() bool { return strings.Count(p.stderr(), "reading") == 2 }, 30*time.Second, 5*time.Millisecond)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
		p.says(t, "steady.draining")
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, "the note", <-answers, p.stderr())
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM), "the second hurries")
		p.says(t, "cancelled:")
		require.NoError(t, p.ends(t))
	})
}

// readFor calls the slow tool, and returns what it answers.
func readFor(cs *mcp.ClientSession, takes string) string {
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_note", Arguments: map[string]any{"takes": takes}})
	if err != nil {
		return "error: " + err.Error()
	}
	return mcptest.Text(res)
}

// What takes longer than the window is cancelled, and may still answer.
func TestRunHTTPCancelsAfterTheWindow(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			p := start(t, "100ms")
			cs := connectTo(t, p.url, revision)
			answer := make(chan string, 1)
			go func() { answer <- readFor(cs, "60s") }()
			p.says(t, "reading")
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, p.ends(t))
			require.Contains(t, p.stderr(), "cancelled: steady: the session is shutting down: terminated")
			require.NotContains(t, <-answer, "error: ", "the handler's answer arrives")
		})
	}
}

// A handler that ignores its context is left behind, and Run says so.
func TestRunHTTPAbandons(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			p := start(t, "60s")
			cs := connectTo(t, p.url, revision)
			go func() {
				_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_note", Arguments: map[string]any{"takes": "60s", "defies": true}})
			}()
			p.says(t, "reading")
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			p.says(t, "steady.draining")
			start := time.Now()
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM), "a second signal does not wait for the window")
			require.Error(t, p.ends(t))
			require.Less(t, time.Since(start), 20*time.Second)
			require.Contains(t, p.stderr(), "main: steady: requests were abandoned: ")
		})
	}
}

func TestRunStdio(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), runVariable+"=1s")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
			cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			require.NoError(t, err)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_note"})
			require.NoError(t, err)
			require.Contains(t, mcptest.Text(res), "read_note was called instead")
			require.NoError(t, cs.Close())
			require.Contains(t, stderr.String(), "[stdout] stray line")
		})
	}
}

func TestBindFlags(t *testing.T) {
	parse := func(o *steady.RunOptions, args ...string) string {
		flags := flag.NewFlagSet("notes", flag.ContinueOnError)
		o.BindFlags(flags)
		require.NoError(t, flags.Parse(args))
		return o.Addr
	}
	require.Empty(t, parse(&steady.RunOptions{}))
	require.Equal(t, ":1", parse(&steady.RunOptions{}, "-http", ":1"))
	require.Equal(t, ":2", parse(&steady.RunOptions{Addr: ":2"}))
	t.Setenv(steady.AddrVariable, ":3")
	require.Equal(t, ":3", parse(&steady.RunOptions{}))
	require.Equal(t, ":2", parse(&steady.RunOptions{Addr: ":2"}))
	require.Empty(t, parse(&steady.RunOptions{}, "-http="), "back to stdio")
}
