package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/tasks"
)

// Nothing here takes long; what takes longer than this has hung.
const (
	callTimeout = 30 * time.Second
	exitTimeout = 30 * time.Second
)

// A server is one launched process and the client that talks to it: the
// official Go SDK's, over the process's own standard input and output.
type server struct {
	cmd     *exec.Cmd
	session *mcp.ClientSession // nil if it could not connect

	stdin  io.WriteCloser
	stdout *io.PipeReader // what the client reads
	pumped sync.WaitGroup
	wire   wire
	stderr lockedBuffer
	exited bool
}

// launch starts the program. The caller must close the server.
func launch(ctx context.Context, p program, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, p.path, args...)}
	s.cmd.Stderr = &s.stderr
	// Where stderr is a pipe to us, a child of the server that lives on keeps it open.
	s.cmd.WaitDelay = time.Second
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.stdin = &sent{stdin, &s.wire}
	// The client stops reading when it meets a line that it cannot read; the
	// record goes on, so that the tour can show what else arrived.
	reader, writer := io.Pipe()
	s.stdout = reader
	s.pumped.Go(func() {
		lines := bufio.NewReaderSize(stdout, 64<<10)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				s.wire.add("received", line)
				_, _ = writer.Write(line) // fails once the client has gone
			}
			if err != nil {
				_ = writer.Close()
				return
			}
		}
	})
	return s, nil
}

// connect connects a client as most are.
func (s *server) connect(ctx context.Context) error {
	return s.connectClient(ctx, newClient(), s.pipes())
}

// connectWithTasks connects a client that declares the tasks extension.
func (s *server) connectWithTasks(ctx context.Context) error {
	client := newClient()
	follow, err := tasks.InstallClient(client, nil)
	if err != nil {
		return err
	}
	return s.connectClient(ctx, client, follow.Transport(s.pipes()))
}

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "steady-tour", Version: "v1"}, nil)
}

func (s *server) pipes() mcp.Transport { return &mcp.IOTransport{Reader: s.stdout, Writer: s.stdin} }

func (s *server) connectClient(ctx context.Context, client *mcp.Client, transport mcp.Transport) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	s.session = session
	return nil
}

func (s *server) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	return s.callWithin(ctx, callTimeout, tool, args)
}

func (s *server) callWithin(ctx context.Context, timeout time.Duration, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
}

// listTools returns the names in the order in which the client got them.
func (s *server) listTools(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	if len(list.Tools) == 0 {
		return nil, errors.New("the list of tools is empty")
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// close ends the session and the process and returns its exit status.
func (s *server) close() int {
	if s.exited {
		return s.cmd.ProcessState.ExitCode()
	}
	s.exited = true
	if s.session != nil {
		_ = s.session.Close()
	}
	_ = s.stdin.Close()
	_ = s.stdout.Close()
	kill := time.AfterFunc(exitTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	s.pumped.Wait() // Wait closes the pipe, so everything must be read first
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// A wire is what went over standard input and output, line by line.
type wire struct {
	mu    sync.Mutex
	lines []wireLine
}

type wireLine struct {
	Direction string `json:"direction"` // sent or received
	Line      string `json:"line"`
	Bytes     int    `json:"bytes,omitempty"` // of the whole line, where Line is only its beginning
	at        time.Time
}

// keptLine is how much of a line is kept: some are very long.
const keptLine = 256 << 10

func (w *wire) add(direction string, line []byte) {
	l := wireLine{Direction: direction, at: time.Now()}
	if len(line) > keptLine {
		l.Bytes, line = len(line), line[:keptLine]
	}
	l.Line = strings.TrimRight(string(line), "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, l)
}

// longest returns the bytes of the longest line from the server.
func (w *wire) longest() (bytes int) {
	for _, l := range w.all() {
		if l.Direction == "received" {
			bytes = max(bytes, l.Bytes, len(l.Line)+1)
		}
	}
	return bytes
}

func (w *wire) all() []wireLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// reply returns the result of the last request of a method, byte for byte.
func (w *wire) reply(method string) (result json.RawMessage) {
	for request, reply := range w.answered() {
		if request.Method == method {
			result = reply.Result
		}
	}
	return result
}

// longestWait returns the longest time between a request and its reply.
func (w *wire) longestWait() (longest time.Duration) {
	for request, reply := range w.answered() {
		longest = max(longest, reply.at.Sub(request.at))
	}
	return longest
}

// A message is a request or a reply.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	at     time.Time
}

// answered walks the client's requests that have a reply.
func (w *wire) answered() iter.Seq2[message, message] {
	return func(yield func(request, reply message) bool) {
		requests := map[string]message{}
		for _, l := range w.all() {
			m := message{at: l.at}
			if json.Unmarshal([]byte(l.Line), &m) != nil || m.ID == nil {
				continue
			}
			request, known := requests[string(m.ID)]
			switch {
			case l.Direction == "sent":
				requests[string(m.ID)] = m
			case known && !yield(request, m):
				return
			}
		}
	}
}

// strays returns the lines from the server that are no messages.
func (w *wire) strays() (strays []string) {
	for _, l := range w.all() {
		var message struct {
			Version string `json:"jsonrpc"`
		}
		if l.Direction == "received" && (json.Unmarshal([]byte(l.Line), &message) != nil || message.Version != "2.0") {
			strays = append(strays, l.Line)
		}
	}
	return strays
}

// sent records what the client writes.
type sent struct {
	io.WriteCloser
	wire *wire
}

func (s *sent) Write(p []byte) (int, error) {
	s.wire.add("sent", p)
	return s.WriteCloser.Write(p)
}

// lockedBuffer is written by the process's reader while the tour looks at it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// repository is the folder of the clone that we are in.
func repository(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/steadymcp/steady").Output()
	if err != nil {
		return "." // building will say what is wrong
	}
	return strings.TrimSpace(string(out))
}

// build builds those programs into dir that have no path yet.
func build(ctx context.Context, dir string, programs ...*program) error {
	root := ""
	for _, p := range programs {
		if p.path != "" {
			continue
		}
		p.path = filepath.Join(dir, p.name)
		if runtime.GOOS == "windows" {
			p.path += ".exe"
		}
		if root == "" {
			root = repository(ctx)
		}
		// In its folder, because some are modules of their own.
		cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "examples", p.name), "-o", p.path, ".")
		if out, err := cmd.CombinedOutput(); err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				return fmt.Errorf("the go command is not on the PATH; build examples/%[1]s elsewhere and pass it with -%[1]s", p.name)
			}
			return fmt.Errorf("building examples/%s, which works inside a clone of the repository: %w\n%s", p.name, err, out)
		}
	}
	return nil
}
