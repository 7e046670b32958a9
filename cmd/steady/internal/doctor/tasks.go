package doctor

import (
	"encoding/json"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var taskProbes = []Probe{
	{ID: "task-unasked", Severity: bad, Title: "a client that does not know tasks is answered with one",
		Sends: "calls without the capability",
		Why:   "The client takes a handle for the result, and never asks for the real one.",
		Fix:   "Answer with a task only where the request declares the extension (package tasks)."},
	{ID: "task-unknown", Severity: poor, Title: "a task that does not exist is not refused as one",
		Sends: "tasks/get, tasks/update and tasks/cancel of a made-up task",
		Why:   "A client that polls must learn that there is nothing to wait for.",
		Fix:   "Answer -32602 (package tasks)."},
	{ID: "task-poll", Severity: bad, Title: "a task cannot be followed to its end",
		Sends: "a call with the capability, then tasks/get until it is done",
		Why:   "The work is done, and nobody gets the result.",
		Fix:   "Keep a task readable from the moment its handle is sent (package tasks)."},
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// announcesTasks reports whether a server has the extension of SEP-2663.
func announcesTasks(server session.Server) bool {
	var extensions map[string]json.RawMessage
	_ = json.Unmarshal(server.Capabilities["extensions"], &extensions)
	_, ok := extensions[tasksExtension]
	return ok
}

// tasksSession returns a session in which the server announces tasks, and nil if
// it never does. The extension belongs to the revision without a handshake.
func (e *exam) tasksSession() *session.Session {
	if announcesTasks(e.server) || e.server.Stateless {
		s, err := e.open()
		if err != nil || !announcesTasks(e.server) {
			return nil
		}
		return s
	}
	s, err := e.connect()
	if err != nil {
		return nil
	}
	if s.Discover(e.startTimeout()) != nil || !announcesTasks(s.Server()) {
		s.Close()
		return nil
	}
	return s
}

func (e *exam) checkTasks() {
	for _, t := range e.tools {
		if t.base == nil {
			continue
		}
		e.pass("task-unasked")
		if resultType(t.base.reply.Result) == "task" {
			e.found("task-unasked", t.name, t.base.reply, "the answer is a task")
		}
	}
	s := e.tasksSession()
	if s == nil {
		e.skip("task-unknown", "the server does not announce tasks")
		e.skip("task-poll", "the server does not announce tasks")
		return
	}
	defer s.Close()
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		params := map[string]any{"taskId": "doctor-no-such-task"}
		if method == "tasks/update" {
			params["inputResponses"] = map[string]any{}
		}
		e.pass("task-unknown")
		r := s.Call(method, declared(params), e.opts.Timeout)
		switch {
		case r.OK():
			e.found("task-unknown", method, &r, "a task that does not exist is answered with success")
		case r.Err != nil:
			e.found("task-unknown", method, &r, "a task that does not exist is answered with %s", outcome(&r))
		case internalCode(r.Error.Code):
			e.found("task-unknown", method, &r, "a task that does not exist is answered with the code %d", r.Error.Code)
		}
	}
	for _, t := range e.may(gently) {
		if t.base.ok() {
			e.followTask(s, t)
		}
	}
}

// declared adds the capability to a request, as SEP-2663 wants it.
func declared(params map[string]any) map[string]any {
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}},
	}
	return params
}

// resultType returns what kind of result it is, "" for the ordinary one of
// revisions that have no other.
func resultType(raw json.RawMessage) string {
	var got struct{ ResultType string }
	_ = json.Unmarshal(raw, &got)
	return got.ResultType
}

// followTask calls a tool and, if the answer is a task, asks for it until it is
// done.
func (e *exam) followTask(s *session.Session, t *tool) {
	t.calls++
	r := s.Call("tools/call", declared(map[string]any{"name": t.name, "arguments": t.args}), e.opts.Timeout)
	if !r.OK() || resultType(r.Result) != "task" {
		return
	}
	var handle struct{ TaskID string }
	_ = json.Unmarshal(r.Result, &handle)
	e.pass("task-poll")
	deadline := session.After(slowFactor * e.opts.Timeout)
	for {
		r := s.Call("tasks/get", declared(map[string]any{"taskId": handle.TaskID}), e.opts.Timeout)
		var got struct{ Status string }
		if !r.OK() || json.Unmarshal(r.Result, &got) != nil {
			e.found("task-poll", t.name, &r, "its task is answered with %s", outcome(&r))
			return
		}
		if got.Status != "working" && got.Status != "input_required" {
			return
		}
		if !deadline.Sleep(e.ctx) {
			e.found("task-poll", t.name, &r, "its task is still %s", got.Status)
			return
		}
	}
}
