package tasks

import (
	"context"
	"crypto/rand"
	stderrors "errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

// Options configures a [Manager]. The zero value is ready to use, and leaves
// every tool alone.
type Options struct {
	// Policies says which tools may become tasks, by name. Tools without a
	// policy are left alone.
	Policies map[string]Policy

	// Store keeps the tasks. If nil, a [MemoryStore] with its default bounds.
	Store Store

	// ExtensionOnly leaves out the tools that stand in for the extension. A
	// client that does not declare it then waits for the result, or is refused
	// with code -32021 if the policy says [Required].
	ExtensionOnly bool

	// ToolNames renames the tools that stand in for the extension.
	ToolNames ToolNames

	// MaxWait bounds how long one call of task_status or task_result waits for
	// news. If zero or less, 20 s, which is below the timeout of every client we know.
	MaxWait time.Duration

	// Owner, if not nil, names the principal of a request, for servers whose
	// callers are told apart by something else than a token's subject or a
	// session: by issuer and subject, where there are many issuers. It must not
	// look at arguments. If it returns "", the default rules decide.
	Owner func(mcp.Request) string

	// Anonymous lets callers that have neither a token nor a session share one
	// set of tasks, and lets a handle outlive its connection. It is for servers
	// with one user, such as a local one on stdio: every caller can see and
	// cancel the tasks of every other.
	//
	// If false, a caller without an identity, which is one over stateless HTTP
	// without a token, gets no tasks: its calls run within the request.
	Anonymous bool

	// KeepTokens, if not nil, keeps the token of each call in its record, encrypted,
	// so that a run that cannot see the request has it: see [Policy.RunAgain]. If
	// nil, such a run has the subject and the scopes, but no token to pass on.
	KeepTokens *TokenKeys

	// Observer receives the package's events. If nil, they go to slog.Default.
	Observer observe.Observer
}

// ToolNames are the names of the tools that stand in for the extension. An
// empty name means the default. A server that has tools of these names must
// choose others: the SDK lets a tool replace another silently.
type ToolNames struct {
	Status string // task_status
	Result string // task_result
	Cancel string // task_cancel
	Answer string // task_answer
}

// A Manager runs calls as tasks and answers for them. Make one with [New],
// install it on any number of servers, and close it.
type Manager struct {
	opts     Options
	policies map[string]Policy
	store    Store
	dispatch Dispatcher // the store, if it is one
	observer observe.Observer
	worker   string // the name of this process in records
	epoch    string
	started  time.Time

	installed atomic.Bool // some server answers for handles
	wrapped   atomic.Bool // some handler brings its own policy, see Handler
	rerun     atomic.Pointer[rerunner]

	wide  sync.Map // widenedTool of the tools with a policy, by name
	conns streams  // transports that can push, see Transport
	shape mcp.Middleware

	life context.Context // ends with the manager
	end  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	runs     map[string]*run // running in this process, by task
	slots    map[string]*slots
	doubts   []doubt        // tasks that may have been created without our knowing
	idle     chan struct{}  // closed when closed and runs is empty
	stopped  bool           // no more background work
	others   sync.WaitGroup // background work
	keeping  sync.Once
	attached Attachment // non-nil if dispatch is and keep has been called
}

// New returns a Manager. A nil opts means the zero Options.
func New(opts *Options) *Manager {
	m := &Manager{
		policies: map[string]Policy{},
		worker:   rand.Text(),
		started:  time.Now(),
		runs:     map[string]*run{},
		slots:    map[string]*slots{},
		idle:     make(chan struct{}),
	}
	if opts != nil {
		m.opts = *opts
	}
	for name, p := range m.opts.Policies {
		m.policies[name] = p.withDefaults()
	}
	if m.store = m.opts.Store; m.store == nil {
		m.store = NewMemoryStore(nil)
	}
	m.dispatch, _ = m.store.(Dispatcher)
	m.epoch = handleEpoch(m.store.Epoch())
	m.observer = observe.Or(m.opts.Observer)
	m.shape = errors.Shape(&errors.Options{Observer: m.observer})
	m.life, m.end = context.WithCancel(context.Background())
	m.opts.ToolNames = m.opts.ToolNames.withDefaults()
	if m.opts.MaxWait <= 0 {
		m.opts.MaxWait = 20 * time.Second
	}
	return m
}

// errClosing is the cause with which work is cancelled by Close.
var errClosing = stderrors.New("tasks: the server is shutting down")

// An AbandonedError lists the tasks whose handlers had not returned when
// [Manager.Close] gave up.
type AbandonedError struct {
	Tasks []string // handles
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("tasks: %d tasks were abandoned: %s", len(e.Tasks), strings.Join(e.Tasks, ", "))
}

// Close refuses new calls and waits for the running ones. When ctx is done it
// cancels those that are left, records that their outcome is unknown, gives
// their handlers one second to return, and reports those that did not with an
// [AbandonedError]. Work that may run again is not recorded as ended: another
// process that shares the store takes it over.
//
// Close may be called many times; every call waits.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		if len(m.runs) == 0 {
			close(m.idle)
		}
	}
	attached := m.attached
	m.mu.Unlock()
	if attached != nil {
		attached.Drain()
	}

	var abandoned error
	select {
	case <-m.idle:
	case <-ctx.Done():
		abandoned = m.abandon()
	}
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	if attached != nil {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		attached.Detach(patience)
		cancel()
	}
	m.end()
	m.others.Wait()
	m.rerun.Store(nil) // and with it the server
	return abandoned
}

// background runs f in a goroutine that Close waits for.
func (m *Manager) background(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped {
		m.others.Go(f)
	}
}

// abandon cancels what runs and waits a little for it.
func (m *Manager) abandon() error {
	patience, cancel := context.WithTimeout(m.life, time.Second)
	defer cancel()
	for _, r := range m.running() {
		if r.again {
			r.handOver()
		} else {
			r.fail(patience, errClosing, outcomeUnknown, errors.Unavailable("the server is shutting down"))
		}
	}
	select {
	case <-m.idle:
		return nil
	case <-patience.Done():
	}
	var ids []string
	for _, r := range m.running() {
		ids = append(ids, r.id)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return &AbandonedError{Tasks: ids}
}

func (m *Manager) running() []*run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.runs))
}

// add registers a run, unless the manager is closed.
func (m *Manager) add(r *run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.runs[r.id] = r
	return true
}

func (m *Manager) remove(r *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, r.id)
	if m.closed && len(m.runs) == 0 {
		close(m.idle)
	}
}

// local returns the run of a task in this process, or nil.
func (m *Manager) local(id string) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[id]
}
