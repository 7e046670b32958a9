package rivertasks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/steadymcp/steady/tasks"
)

// A row is a task as the database has it. What SQL decides by has columns, which
// repeat what the body says.
type row struct {
	tasks.Record
	queue string // River's, for each run of it
	jobID int64
	body  []byte // as read
}

// body is the rest of a record. Bytes of others are []byte here: as raw JSON they
// would be compacted, and what a peer sends need not even be JSON.
type body struct {
	Owner          text
	Tool           text
	Responses      []byte            `json:",omitempty"`
	RequestState   text              `json:",omitempty"`
	ArgumentsHash  string            `json:",omitempty"`
	Key            []byte            `json:",omitempty"`
	KeyUntil       time.Time         `json:",omitzero"`
	Identity       []byte            `json:",omitempty"`
	IdentityUntil  time.Time         `json:",omitzero"`
	JoinedKeys     map[string]string `json:",omitempty"`
	StatusMessage  []byte            `json:",omitempty"`
	Error          *bodyError        `json:",omitempty"`
	Done           bool              `json:",omitempty"`
	InputRequests  map[string][]byte `json:",omitempty"`
	InputResponses map[string][]byte `json:",omitempty"`
	InputsAsked    int               `json:",omitempty"`
	Answered       map[string]string `json:",omitempty"`
	Parked         bool              `json:",omitempty"`
	ParkedUntil    time.Time         `json:",omitzero"`
	Caller         tasks.Caller
	CallerSubject  text `json:",omitempty"` // if Caller cannot have it
	RunAgain       bool `json:",omitempty"`
	CreatedAt      time.Time
	UpdatedAt      time.Time
	ExpiresAt      time.Time `json:",omitzero"`
	TTL            time.Duration
	Window         time.Duration `json:",omitempty"`
	PollInterval   time.Duration
	Arguments      bool `json:",omitempty"` // there are some: a column cannot tell nil from empty
	Result         bool `json:",omitempty"`
}

// A text is a string that need not be UTF-8, which JSON would change.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal([][]byte{[]byte(t)})
}

func (t *text) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*string)(t))
	}
	var raw [1][]byte
	err := json.Unmarshal(data, &raw)
	*t = text(raw[0])
	return err
}

type bodyError struct {
	Code    int64
	Message []byte
	Data    []byte `json:",omitempty"`
}

func raws[From, To ~[]byte](m map[string]From) map[string]To {
	if m == nil {
		return nil
	}
	out := make(map[string]To, len(m))
	for k, v := range m {
		out[k] = To(v)
	}
	return out
}

// encode returns the body of r. Members of the old body that this program does
// not know stay: a newer one has written them.
func encode(r *tasks.Record, old []byte) ([]byte, error) {
	b := body{
		Owner: text(r.Owner), Tool: text(r.Tool), Responses: r.Responses, RequestState: text(r.RequestState), ArgumentsHash: r.ArgumentsHash,
		Key: []byte(r.Key), KeyUntil: r.KeyUntil, Identity: []byte(r.Identity), IdentityUntil: r.IdentityUntil, JoinedKeys: r.JoinedKeys,
		StatusMessage: []byte(r.StatusMessage), Done: r.Done,
		InputRequests: raws[json.RawMessage, []byte](r.InputRequests), InputResponses: raws[json.RawMessage, []byte](r.InputResponses),
		InputsAsked: r.InputsAsked, Answered: r.Answered, Parked: r.Parked, ParkedUntil: r.ParkedUntil, Caller: r.Caller, RunAgain: r.RunAgain,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt, TTL: r.TTL, Window: r.Window, PollInterval: r.PollInterval,
		Arguments: r.Arguments != nil, Result: r.Result != nil,
	}
	if !utf8.ValidString(r.Caller.Subject) {
		b.CallerSubject = text(r.Caller.Subject)
	}
	if e := r.Error; e != nil {
		b.Error = &bodyError{Code: e.Code, Message: []byte(e.Message), Data: e.Data}
	}
	encoded, err := json.Marshal(b)
	if err != nil || old == nil {
		return encoded, err
	}
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal(old, &before); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encoded, &after); err != nil {
		return nil, err
	}
	maps.DeleteFunc(before, func(name string, _ json.RawMessage) bool { return knownMembers[name] })
	if len(before) == 0 {
		return encoded, nil
	}
	maps.Copy(after, before)
	return json.Marshal(after)
}

// decode fills r from a body; the columns have been read.
func (r *row) decode() error {
	var b body
	if err := json.Unmarshal(r.body, &b); err != nil {
		return fmt.Errorf("rivertasks: the record of %s is damaged: %w", r.ID, err)
	}
	r.Owner, r.Tool, r.Responses, r.RequestState, r.ArgumentsHash = string(b.Owner), string(b.Tool), b.Responses, string(b.RequestState), b.ArgumentsHash
	r.Key, r.KeyUntil, r.Identity, r.IdentityUntil, r.JoinedKeys = string(b.Key), b.KeyUntil, string(b.Identity), b.IdentityUntil, b.JoinedKeys
	r.StatusMessage, r.Done = string(b.StatusMessage), b.Done
	r.InputRequests, r.InputResponses = raws[[]byte, json.RawMessage](b.InputRequests), raws[[]byte, json.RawMessage](b.InputResponses)
	r.InputsAsked, r.Answered, r.Parked, r.ParkedUntil, r.Caller, r.RunAgain = b.InputsAsked, b.Answered, b.Parked, b.ParkedUntil, b.Caller, b.RunAgain
	r.CreatedAt, r.UpdatedAt, r.ExpiresAt, r.TTL, r.Window, r.PollInterval = b.CreatedAt, b.UpdatedAt, b.ExpiresAt, b.TTL, b.Window, b.PollInterval
	if b.CallerSubject != "" {
		r.Caller.Subject = string(b.CallerSubject)
	}
	if e := b.Error; e != nil {
		r.Error = &tasks.Error{Code: e.Code, Message: string(e.Message), Data: e.Data}
	}
	if b.Arguments && r.Arguments == nil {
		r.Arguments = json.RawMessage{}
	}
	if b.Result && r.Result == nil {
		r.Result = json.RawMessage{}
	}
	return nil
}

// digest names a list of texts that no other list has the name of.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return h.Sum(nil)
}

// holds are the digests that a record holds while it holds its key or identity.
func holds(r *tasks.Record, key bool) [][]byte {
	var out [][]byte
	if !key {
		if r.Identity != "" {
			out = append(out, identityHold(r))
		}
		return out
	}
	if r.Key != "" {
		out = append(out, keyHold(r, r.Key))
	}
	for k := range r.JoinedKeys {
		out = append(out, keyHold(r, k))
	}
	return out
}

func keyHold(r *tasks.Record, key string) []byte { return digest("key", r.Owner, r.Tool, key) }
func identityHold(r *tasks.Record) []byte        { return digest("identity", r.Owner, r.Tool, r.Identity) }

// nanos is a time as a column has it; a zero one is NULL.
func nanos(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// plain is a name without what PostgreSQL cannot store in a text.
func plain(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?") }

const (
	inline   = 8 << 10 // bytes; what is larger is in mcp_part
	partSize = 1 << 20

	partArguments = "arguments"
	partResult    = "result"
)

// writeParts stores data apart if it is large, and returns what its column gets.
func writeParts(ctx context.Context, t tx, id, kind string, data []byte) (column any, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if len(data) <= inline {
		return data, nil
	}
	if _, err := t.exec(ctx, `DELETE FROM mcp_part WHERE task_id = $1 AND kind = $2`, id, kind); err != nil {
		return nil, err
	}
	for i := 0; len(data) > 0; i++ {
		n := min(partSize, len(data))
		if _, err := t.exec(ctx, `INSERT INTO mcp_part (task_id, kind, part, bytes) VALUES ($1, $2, $3, $4)`, id, kind, i, data[:n]); err != nil {
			return nil, err
		}
		data = data[n:]
	}
	return nil, nil
}

func readParts(ctx context.Context, q querier, id, kind string) ([]byte, error) {
	rows, err := q.query(ctx, `SELECT bytes FROM mcp_part WHERE task_id = $1 AND kind = $2 ORDER BY part`, id, kind)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var whole bytes.Buffer
	for rows.Next() {
		var part []byte
		if err := rows.Scan(&part); err != nil {
			return nil, err
		}
		whole.Write(part)
	}
	return whole.Bytes(), rows.Err()
}

const columns = `t.id, t.version, t.status, t.run, t.worker, t.queue, t.job_id, t.disclosed, t.body, t.arguments, t.result`

// readRows reads records by a query that selects columns from mcp_task t.
func readRows(ctx context.Context, q querier, query string, args ...any) (out []*row, err error) {
	err = readEach(ctx, q, func(r *row) error {
		out = append(out, r)
		return nil
	}, query, args...)
	return out, err
}

// readEach calls f with the records that readRows would return. What is large of one
// is read when it is its turn: there may be many.
func readEach(ctx context.Context, q querier, f func(*row) error, query string, args ...any) error {
	found, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	var out []*row
	for found.Next() {
		r := &row{}
		var status string
		var arguments, result []byte
		if err := found.Scan(&r.ID, &r.Version, &status, &r.Run, &r.Worker, &r.queue, &r.jobID, &r.Disclosed, &r.body, &arguments, &result); err != nil {
			found.Close()
			return err
		}
		r.Status, r.Arguments, r.Result = tasks.Status(status), arguments, result
		out = append(out, r)
	}
	found.Close() // before more is read on the same connection
	if err := found.Err(); err != nil {
		return err
	}
	for i, r := range out {
		out[i] = nil
		if err := r.decode(); err != nil {
			return err
		}
		if err := r.readApart(ctx, q); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// readApart reads what the record has and its columns have not.
func (r *row) readApart(ctx context.Context, q querier) (err error) {
	if r.Arguments != nil && len(r.Arguments) == 0 {
		if r.Arguments, err = readParts(ctx, q, r.ID, partArguments); err != nil {
			return err
		}
	}
	if r.Result != nil && len(r.Result) == 0 {
		r.Result, err = readParts(ctx, q, r.ID, partResult)
	}
	return err
}

// readOne is readRows for at most one record; it returns nil if there is none.
func readOne(ctx context.Context, q querier, query string, args ...any) (*row, error) {
	rows, err := readRows(ctx, q, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

func records(rows []*row) []tasks.Record {
	var out []tasks.Record
	for _, r := range rows {
		out = append(out, r.Record)
	}
	return out
}

// knownMembers are the members of a body that this program writes.
var knownMembers = func() map[string]bool {
	known := map[string]bool{}
	for f := range reflect.TypeFor[body]().Fields() {
		known[f.Name] = true
	}
	return known
}()
