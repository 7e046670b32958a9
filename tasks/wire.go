package tasks

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// ExtensionID names the extension in the capabilities of clients and servers.
const ExtensionID = "io.modelcontextprotocol/tasks"

// Methods of the extension, and of the core protocol where only this package
// looks at them.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
	methodListen = "subscriptions/listen"

	notificationTasks    = "notifications/tasks"
	notificationAcked    = "notifications/subscriptions/acknowledged"
	notificationProgress = "notifications/progress"
	notificationMessage  = "notifications/message"

	methodElicit    = "elicitation/create"
	methodSample    = "sampling/createMessage"
	methodListRoots = "roots/list"

	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerVersion = "Mcp-Protocol-Version"
)

// A Task is what a client sees of a task.
type Task struct {
	ID             string    `json:"taskId"`
	Status         Status    `json:"status"`
	StatusMessage  string    `json:"statusMessage,omitempty"`
	CreatedAt      time.Time `json:"createdAt"`
	LastUpdatedAt  time.Time `json:"lastUpdatedAt"`
	TTLMs          int64     `json:"ttlMs"`
	PollIntervalMs int64     `json:"pollIntervalMs"`
}

// detailedTask is a Task with what its status adds: the extension's section
// "Task Status".
type detailedTask struct {
	Task
	Result        json.RawMessage            `json:"result,omitempty"`
	Error         *Error                     `json:"error,omitempty"`
	InputRequests map[string]json.RawMessage `json:"inputRequests,omitempty"`
}

// task returns the client's view of r. While it runs, ttlMs grows: it promises
// that the task is kept for its time to live from now, which always holds.
func (r *Record) task(now time.Time) Task {
	kept := now.Add(r.TTL)
	if r.Status.Terminal() {
		kept = r.ExpiresAt
	}
	return Task{
		ID:             r.ID,
		Status:         r.Status,
		StatusMessage:  r.StatusMessage,
		CreatedAt:      r.CreatedAt.UTC(),
		LastUpdatedAt:  r.UpdatedAt.UTC(),
		TTLMs:          kept.Sub(r.CreatedAt).Milliseconds(),
		PollIntervalMs: r.PollInterval.Milliseconds(),
	}
}

func (r *Record) detailed(now time.Time) detailedTask {
	d := detailedTask{Task: r.task(now)}
	switch r.Status {
	case Completed:
		d.Result = r.Result
	case Failed:
		d.Error = r.Error
	case InputRequired:
		d.InputRequests = r.InputRequests
	}
	return d
}

// Params and results of the extension's methods. Every result states its
// resultType, because the SDK does so only for types of its own.
type (
	createResult struct {
		mcp.ResultBase
		ResultType string `json:"resultType"` // "task"
		Task
	}
	getParams struct {
		mcp.ParamsBase
		TaskID string `json:"taskId"`
	}
	getResult struct {
		mcp.ResultBase
		ResultType string `json:"resultType"` // "complete"
		detailedTask
	}
	updateParams struct {
		mcp.ParamsBase
		TaskID string `json:"taskId"`
		// Not an mcp.InputResponseMap: decoding that fails as a whole at the first
		// entry that is not understood, and unknown keys must be ignored.
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
	}
	cancelParams struct {
		mcp.ParamsBase
		TaskID string `json:"taskId"`
	}
	ackResult struct {
		mcp.ResultBase
		ResultType string `json:"resultType"` // "complete"
	}
	notificationParams struct {
		mcp.ParamsBase
		detailedTask
	}
)

const (
	resultTask     = "task"
	resultComplete = "complete"
)

// clientCapabilities returns what the client declared on this very request, or
// nil.
func clientCapabilities(req mcp.Request) *mcp.ClientCapabilities {
	if r, ok := req.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
	}); ok {
		return r.ClientCapabilities()
	}
	return nil
}

// hasTasks reports whether a request's revision has the extension. Revision
// 2025-11-25 has methods of the same names that mean something else.
func hasTasks(req mcp.Request) bool {
	r, ok := req.(interface{ ProtocolVersion() string })
	return ok && r.ProtocolVersion() >= wire.StatelessRevision
}

// declared reports whether the client declared the extension on this request.
func declared(req mcp.Request) bool {
	if !hasTasks(req) {
		return false
	}
	// Most requests carry the capabilities as they were decoded. Having the SDK
	// decode them once more costs more than all else on the way of a call.
	if caps, ok := metaOf(req)[mcp.MetaKeyClientCapabilities].(map[string]any); ok {
		extensions, _ := caps["extensions"].(map[string]any)
		_, ok := extensions[ExtensionID]
		return ok
	}
	caps := clientCapabilities(req)
	if caps == nil {
		return false
	}
	_, ok := caps.Extensions[ExtensionID]
	return ok
}

// metaOf returns the _meta of a request, which may lack parameters.
func metaOf(req mcp.Request) map[string]any {
	p := req.GetParams()
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.GetMeta()
}

func errMissingCapability() error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "This needs the client capability " + ExtensionID + ", which the request does not declare.",
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + ExtensionID + `":{}}}}`),
	}
}

func errInvalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// errUnknownTask answers for a task that never existed, has expired, or is
// somebody else's; the caller must not learn which.
func errUnknownTask() error {
	return errInvalidParams("Task not found: there is no such task, or it has expired.")
}

// errIncident says, as package errors does, that something went wrong which is
// in the log under that id.
func errIncident(incident string) error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: "internal error (incident " + incident + ")",
		Data:    json.RawMessage(`{"incident":"` + incident + `","kind":"internal"}`),
	}
}

func errInternal(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}
