package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"
)

// Status is the state of a task, as the extension names it.
type Status string

// The states of a task. The last three are terminal: a task never leaves them.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Terminal reports whether a task in this state never changes again.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// An Error is the protocol error that a failed task ended with.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// A Record is everything that is known about a task. Nothing about a task is
// kept anywhere else, so that another process, or the same one after a restart,
// can answer for it.
//
// A Record is a value. Its byte slices are never changed once they are in a
// Record, and its maps are replaced, not written to.
type Record struct {
	ID    string // handle, see [Store.Epoch]
	Owner string // principal that called the tool
	Tool  string

	// The call. Arguments are as received, after middleware outside of this
	// package; Responses and RequestState are set for a call that continues a
	// multi round-trip request.
	Arguments     json.RawMessage
	Responses     json.RawMessage
	RequestState  string
	ArgumentsHash string

	// Key is the caller's idempotency key and Identity what the call is about;
	// both may be "". Each is held from creation, so that a second call joins
	// this task, until its Until time; a zero Until means that the work may
	// still be running and the key is held without end.
	Key           string
	KeyUntil      time.Time
	Identity      string
	IdentityUntil time.Time
	// JoinedKeys are the keys of calls that joined by identity, each with the
	// hash of its call's arguments. They are held as Key is. Only Create adds to
	// them, see [AddKey].
	JoinedKeys map[string]string

	Status        Status
	StatusMessage string
	Result        json.RawMessage // the tools/call result, if Completed
	Error         *Error          // if Failed
	// Done is set if the work succeeded. If the task is Failed all the same, only
	// the result could not be kept: the key and the identity stay held, since the
	// work must not be done again.
	Done bool

	// InputRequests are the questions that wait for an answer, by key, and
	// InputResponses the answers that were accepted. InputsAsked counts every
	// key ever used: keys are not used again within a task.
	InputRequests  map[string]json.RawMessage
	InputResponses map[string]json.RawMessage
	InputsAsked    int
	// Answered has, for each of the InputResponses, a digest of its question: another
	// run that asks the same gets the answer that was given.
	Answered map[string]string
	// Parked says that the run has ended with its questions: the next one gets
	// the answers as Responses. ParkedUntil is how long a task without a worker
	// waits for them.
	Parked      bool
	ParkedUntil time.Time

	// Caller is who called, for runs that cannot see the request.
	Caller Caller

	// Disclosed is set once somebody has been given the handle.
	Disclosed bool

	// Worker is the process that runs the work, "" when nothing runs. Run
	// numbers its runs from 1 and is the fencing token: whoever writes on behalf
	// of a run must find its own number. RunAgain says that another run may be
	// started if a worker is lost.
	Worker   string
	Run      int64
	RunAgain bool

	CreatedAt time.Time
	UpdatedAt time.Time
	// ExpiresAt is when a terminal task may be swept. Zero until then: a running
	// task is never swept, and neither is one that has ended, by a cancellation
	// for example, while its worker is alive and has not stopped.
	ExpiresAt    time.Time
	TTL          time.Duration // how long the task is kept once terminal
	Window       time.Duration // how long Identity is held after success; zero means as long as the task is kept
	PollInterval time.Duration

	// Version is set by the store: 1 at creation, one more at each update.
	Version int64
}

// A Caller is what a record keeps of a request. It never holds a token, except
// encrypted and if [Options.KeepTokens] says so.
type Caller struct {
	// Subject, Scopes and Expiration are those of the verified token. Subject is ""
	// if there was none.
	Subject    string    `json:"subject,omitempty"`
	Scopes     []string  `json:"scopes,omitempty"`
	Expiration time.Time `json:"expiration,omitzero"`
	// Token is the encrypted value of the header Authorization.
	Token *SealedToken `json:"token,omitempty"`
	// Capabilities are what the client declared, as on the wire, and Follows is how
	// it can follow a task: "" not at all, "tools", or "extension".
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Follows      string          `json:"follows,omitempty"`
}

// A SealedToken is a token encrypted by [TokenKeys].
type SealedToken struct {
	KeyID string `json:"keyId"`
	Bytes []byte `json:"bytes"`
}

// KeyHeld reports whether a second call that has one of the keys of r must join
// it at now, unless r has expired.
func (r *Record) KeyHeld(now time.Time) bool {
	return (r.Key != "" || len(r.JoinedKeys) > 0) && (r.KeyUntil.IsZero() || now.Before(r.KeyUntil))
}

// IdentityHeld is KeyHeld for a second call with the same identity.
func (r *Record) IdentityHeld(now time.Time) bool {
	return r.Identity != "" && (r.IdentityUntil.IsZero() || now.Before(r.IdentityUntil))
}

// KeyHash returns the hash of the arguments that an idempotency key came with,
// and whether r has that key at all.
func (r *Record) KeyHash(key string) (hash string, ok bool) {
	if key != "" && key == r.Key {
		return r.ArgumentsHash, true
	}
	hash, ok = r.JoinedKeys[key]
	return hash, ok
}

const maxJoinedKeys = 256 // of one task; each takes up to some 100 bytes

// AddKey gives the task that holds a call's identity the call's key, if it does
// not have it, and reports whether it did. If the task has ended, it is then kept
// for the key's whole time from now. Stores call it within the transaction of
// [Store.Create]. It returns [ErrTooManyKeys] if the task has too many.
func AddKey(holder, call *Record, now time.Time) (added bool, err error) {
	if call.Key == "" {
		return false, nil
	}
	if _, has := holder.KeyHash(call.Key); has {
		return false, nil
	}
	if holder.Status.Terminal() && !holder.Done {
		return false, nil // its work is still stopping: whoever joins will run anew
	}
	if len(holder.JoinedKeys) >= maxJoinedKeys {
		return false, ErrTooManyKeys
	}
	keys := maps.Clone(holder.JoinedKeys)
	if keys == nil {
		keys = map[string]string{}
	}
	keys[call.Key] = call.ArgumentsHash
	holder.JoinedKeys = keys
	if holder.Status.Terminal() {
		if until := now.Add(holder.TTL); until.After(holder.ExpiresAt) {
			holder.ExpiresAt = until
		}
		holder.KeyUntil = holder.ExpiresAt
	}
	return true, nil
}

// Expired reports whether r is past its time to live.
func (r *Record) Expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// Errors that a [Store] returns, possibly wrapped.
var (
	ErrNotFound = errors.New("tasks: no such task")
	ErrConflict = errors.New("tasks: the task was changed by somebody else")
	ErrTerminal = errors.New("tasks: the task has ended")
	ErrFull     = errors.New("tasks: the store is full")
	// ErrTooManyKeys says that too many calls with different idempotency keys have
	// joined one task.
	ErrTooManyKeys = errors.New("tasks: the task has too many idempotency keys")
	// ErrNotHere says that a process cannot run a task. See [Process].
	ErrNotHere = errors.New("tasks: this process has no such tool")
)

// A Store keeps records. It is safe for use by many goroutines and, if it is
// shared, by many processes. Everything that time decides takes the time as an
// argument.
//
// [github.com/steadymcp/steady/tasks/taskstest.Run] says in code what a Store
// must do.
type Store interface {
	// Epoch names the life of the store's contents: a store in memory begins a
	// new one each time that it is made, a database keeps one for ever. Handles
	// carry it, so that a handle that was lost with its store is told apart from
	// one that never existed. It is made of at most 16 lower case letters and
	// digits.
	Epoch() string

	// Create stores r, unless its owner already has a task of the same tool
	// whose key, or else whose identity, is held at now. In that case it returns
	// that task and false. Of many concurrent calls with one key, exactly one
	// creates. A task found by key wins over one found by identity. A task that has
	// expired holds nothing, unless it has a worker that is alive at now.
	//
	// If a call joins by identity and brings a key that the task does not have, the
	// task gets it in the same step: see [AddKey], whose errors Create returns.
	//
	// It returns [ErrFull] if there is no room.
	Create(ctx context.Context, now time.Time, r Record) (got Record, created bool, err error)

	// Get returns a task, even one that has expired but has not been swept.
	Get(ctx context.Context, id string) (Record, error)

	// Update replaces a task if its version is still r.Version, and returns it
	// with the next version; otherwise it returns [ErrConflict]. It refuses what
	// [CheckUpdate] refuses.
	Update(ctx context.Context, now time.Time, r Record) (Record, error)

	// Delete removes a task if its version is still the given one, otherwise it
	// returns [ErrConflict].
	Delete(ctx context.Context, id string, version int64) error

	// Watch waits until the task's version is above after and returns it. It
	// returns [ErrNotFound] once there is no such task. A change between reading
	// a version and watching for the next is not lost.
	Watch(ctx context.Context, id string, after int64) (Record, error)

	// Running returns up to limit disclosed tasks of an owner that are not
	// terminal, oldest first.
	Running(ctx context.Context, owner string, limit int) ([]Record, error)

	// Sweep removes up to limit tasks that have expired at now, and whose worker, if
	// they have one, is not alive at now. It returns how many. Its cost depends on how many it removes, not on how many there are.
	Sweep(ctx context.Context, now time.Time, limit int) (int, error)

	// Beat says that a worker is alive until the given time, and Lost returns up
	// to limit tasks whose worker has beaten before but is not alive at now.
	Beat(ctx context.Context, worker string, until time.Time) error
	Lost(ctx context.Context, now time.Time, limit int) ([]Record, error)
}

// CheckUpdate reports whether a task may change from old to new. Stores call it
// within the transaction of [Store.Update]: what a task is never changes, and a
// terminal task keeps its status, result and error. Afterwards only the
// worker, the keys' Until times and the disclosure may change.
func CheckUpdate(old, new *Record) error {
	if old.ID != new.ID || old.Owner != new.Owner || old.Tool != new.Tool || old.Key != new.Key || old.Identity != new.Identity ||
		!maps.Equal(old.JoinedKeys, new.JoinedKeys) {
		return errors.New("tasks: an update must not change what the task is")
	}
	if new.Run < old.Run {
		return ErrConflict
	}
	if !old.Status.Terminal() {
		return nil
	}
	if new.Status != old.Status || new.Done != old.Done || new.StatusMessage != old.StatusMessage || !new.ExpiresAt.Equal(old.ExpiresAt) ||
		!bytes.Equal(new.Result, old.Result) || !sameError(old.Error, new.Error) || len(new.InputRequests) > 0 {
		return ErrTerminal
	}
	return nil
}

func sameError(a, b *Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Code == b.Code && a.Message == b.Message && bytes.Equal(a.Data, b.Data)
}

// letGo ends the hold of the key and the identity at now.
func (r *Record) letGo(now time.Time) {
	r.KeyUntil, r.IdentityUntil = now, now
}

// clone returns r with maps of its own.
func (r Record) clone() Record {
	r.JoinedKeys = maps.Clone(r.JoinedKeys)
	r.InputRequests = maps.Clone(r.InputRequests)
	r.InputResponses = maps.Clone(r.InputResponses)
	r.Answered = maps.Clone(r.Answered)
	return r
}

// size estimates the memory that r occupies, in bytes.
func (r *Record) size() int {
	const fixed = 1024 // the struct, its index entries and its map slot
	n := fixed + len(r.Arguments) + len(r.Responses) + len(r.RequestState) + len(r.Result) + len(r.StatusMessage) + len(r.Key) + len(r.Identity)
	if r.Error != nil {
		n += len(r.Error.Message) + len(r.Error.Data)
	}
	for k, v := range r.JoinedKeys {
		n += 2*len(k) + len(v) + 100 // with its index entry
	}
	for k, v := range r.InputRequests {
		n += len(k) + len(v)
	}
	for k, v := range r.InputResponses {
		n += len(k) + len(v) + 50 // with the digest of its question
	}
	n += len(r.Caller.Subject) + len(r.Caller.Capabilities)
	if r.Caller.Token != nil {
		n += len(r.Caller.Token.Bytes)
	}
	return n
}
