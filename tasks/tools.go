package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

func (n ToolNames) withDefaults() ToolNames {
	return ToolNames{
		Status: cmp.Or(n.Status, "task_status"),
		Result: cmp.Or(n.Result, "task_result"),
		Cancel: cmp.Or(n.Cancel, "task_cancel"),
		Answer: cmp.Or(n.Answer, "task_answer"),
	}
}

func (n *ToolNames) all() []string { return []string{n.Status, n.Result, n.Cancel, n.Answer} }

// handle answers a call whose work goes on, in the way that its caller
// understands. rec has been disclosed.
func (m *Manager) handle(r *run, rec *Record, joined bool) mcp.Result {
	if r.surface == surfaceExtension {
		res := &createResult{ResultType: resultTask, Task: rec.task(time.Now())}
		if joined {
			meta := rec.meta(true)
			meta["note"] = runningNote(rec) // for clients that show only the final result
			res.Meta = mcp.Meta{wire.MetaTask: meta}
			res.StatusMessage = strings.TrimSpace(runningNote(rec) + " " + res.StatusMessage)
		}
		return res
	}
	text := fmt.Sprintf("%s has started and is still running: this is not its result. Do not call it again for the same thing. Its task is %s.\n%s",
		rec.Tool, rec.ID, m.advice(rec))
	if joined {
		text = runningNote(rec) + "\n" + text
	}
	return m.taskResult(r.req, rec, text, joined)
}

// runningNote is the line that tells a model that its call was not started
// again.
func runningNote(rec *Record) string {
	return fmt.Sprintf("(Not started again: this is the call of %s ago.)", ago(rec.CreatedAt))
}

// advice is what to do next about a task that runs.
func (m *Manager) advice(rec *Record) string {
	names := &m.opts.ToolNames
	argument := fmt.Sprintf(`{"task_id": %q}`, rec.ID)
	if rec.Status != InputRequired {
		return fmt.Sprintf("To get the result, call %s with %s: it waits up to %v. To stop the work, call %s with the same.",
			names.Result, argument, m.opts.MaxWait, names.Cancel)
	}
	var b strings.Builder
	b.WriteString("It waits for input. Ask the user, do not make answers up:\n")
	for _, key := range slices.Sorted(maps.Keys(rec.InputRequests)) {
		fmt.Fprintf(&b, "- %s: %s\n", key, rec.InputRequests[key])
	}
	fmt.Fprintf(&b, `Then call %s with {"task_id": %q, "answers": {KEY: {"action": "accept", "content": {...}}}}; the action is "decline" if the user refuses.`,
		names.Answer, rec.ID)
	return b.String()
}

// taskResult is a normal result that tells about a task instead of the work.
// A tool with an output schema has it widened so that this fits, see listTools.
func (m *Manager) taskResult(req *mcp.CallToolRequest, rec *Record, text string, joined bool) *mcp.CallToolResult {
	res := wire.NewToolText(req, text)
	res.StructuredContent = map[string]any{"task": rec.task(time.Now())}
	res.Meta = mcp.Meta{wire.MetaTask: rec.meta(joined)}
	return res
}

const handleSchema = `{"type":"string","description":"The task's handle, as the slow tool returned it."}`

// addTools registers the tools that stand in for the extension.
func (m *Manager) addTools(server *mcp.Server) {
	names := &m.opts.ToolNames
	yes, no := true, false
	add := func(name, description, properties, required string, readOnly bool, h func(context.Context, *mcp.CallToolRequest, *toolInput) (*mcp.CallToolResult, error)) {
		annotations := &mcp.ToolAnnotations{ReadOnlyHint: readOnly, OpenWorldHint: &no, DestructiveHint: &no, IdempotentHint: true}
		if name == names.Cancel {
			annotations.DestructiveHint = &yes
		}
		var allowed map[string]json.RawMessage
		var needed []string
		if err := stderrors.Join(json.Unmarshal([]byte("{"+properties+"}"), &allowed), json.Unmarshal([]byte("["+required+"]"), &needed)); err != nil {
			panic(err) // the texts are below
		}
		server.AddTool(&mcp.Tool{
			Name:        name,
			Description: description,
			Annotations: annotations,
			InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`),
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			in, err := readToolInput(name, req.Params.Arguments, allowed, needed)
			var res *mcp.CallToolResult
			if err == nil {
				res, err = h(ctx, req, in)
			}
			if f, ok := errorAs[*errors.Failure](err); ok {
				return f.Result(req), nil
			}
			return res, err
		})
	}
	wait := fmt.Sprintf(`"wait_seconds":{"type":"number","minimum":0,"description":"How long to wait for news. Default and maximum: %v."}`, m.opts.MaxWait.Seconds())
	id := `"task_id":` + handleSchema
	add(names.Status, "Says how a slow call is getting on. Waits a while for news, so there is no need to call it in a tight loop. "+
		"Without task_id it lists your running tasks.", id+","+wait, "", true, m.statusTool)
	add(names.Result, "Returns the result of a slow call that was answered with a task. Waits a while if it still runs.", id+","+wait, `"task_id"`, true, m.resultTool)
	add(names.Cancel, "Stops a slow call that was answered with a task, and returns how it stands then. What was done until then is not undone.", id, `"task_id"`, false, m.cancelTool)
	add(names.Answer, "Answers the questions that a task waits with. Only what the user said is an answer.",
		id+`,"answers":{"type":"object","description":"One answer for each key of the questions: {\"action\": \"accept\", \"content\": {...}} or {\"action\": \"decline\"}.","additionalProperties":{"type":"object"}}`,
		`"task_id","answers"`, false, m.answerTool)
}

func (m *Manager) statusTool(ctx context.Context, req *mcp.CallToolRequest, in *toolInput) (*mcp.CallToolResult, error) {
	if in.TaskID == "" {
		return m.listRunning(ctx, req)
	}
	rec, err := m.findFor(ctx, m.opts.ToolNames.Status, req, in.TaskID)
	if err != nil {
		return nil, err
	}
	rec = m.awaitNews(ctx, rec, in.wait(m.opts.MaxWait))
	return m.taskResult(req, rec, m.describe(rec), false), nil
}

func (m *Manager) resultTool(ctx context.Context, req *mcp.CallToolRequest, in *toolInput) (*mcp.CallToolResult, error) {
	rec, err := m.findFor(ctx, m.opts.ToolNames.Result, req, in.TaskID)
	if err != nil {
		return nil, err
	}
	rec = m.awaitNews(ctx, rec, in.wait(m.opts.MaxWait))
	switch {
	case rec.Status == Completed:
		res, err := storedResult(req, rec.Result)
		if err != nil {
			return nil, errInternal("The stored result cannot be read.")
		}
		return wire.WithMeta(res, wire.MetaTask, rec.meta(false)), nil
	case rec.Done:
		return nil, resultLost(rec)
	case rec.Status == Failed:
		return nil, errors.Fail(errors.KindInternal, "%s failed", toolOf(rec)).Because("%s", rec.StatusMessage)
	case rec.Status == Cancelled:
		return nil, endedElsewhere(rec)
	}
	return m.taskResult(req, rec, m.describe(rec), false), nil
}

func (m *Manager) cancelTool(ctx context.Context, req *mcp.CallToolRequest, in *toolInput) (*mcp.CallToolResult, error) {
	rec, err := m.findFor(ctx, m.opts.ToolNames.Cancel, req, in.TaskID)
	if err != nil {
		return nil, err
	}
	if rec.Status.Terminal() {
		return m.taskResult(req, rec, "Nothing to stop. "+m.describe(rec), false), nil
	}
	now, err := m.cancel(ctx, rec.ID)
	if err != nil {
		return nil, m.publicError(ctx, "cancel", rec.ID, err)
	}
	return m.taskResult(req, &now, m.describe(&now), false), nil
}

func (m *Manager) answerTool(ctx context.Context, req *mcp.CallToolRequest, in *toolInput) (*mcp.CallToolResult, error) {
	rec, err := m.findFor(ctx, m.opts.ToolNames.Answer, req, in.TaskID)
	if err != nil {
		return nil, err
	}
	now, err := m.deliver(ctx, rec.ID, in.Answers)
	switch {
	case err == nil:
		return m.taskResult(req, &now, "The answer was passed on. "+m.describe(&now), false), nil
	case stderrors.Is(err, errEnded):
		return nil, errors.Refused("the task no longer waits for an answer").Because("it is %s", rec.Status)
	case stderrors.Is(err, errNoAnswer):
		return nil, errors.Invalid("none of the answers is for a question that waits").Next("%s", m.describe(rec))
	}
	err = m.publicError(ctx, "answer", rec.ID, err)
	if je, ok := invalidParams(err); ok {
		return nil, errors.Invalid("%s", je.Message).Next("%s", m.describe(rec))
	}
	return nil, err
}

// listRunning lists the caller's running tasks, for a model that has lost a
// handle.
func (m *Manager) listRunning(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const most = 50
	var recs []Record
	if owner := m.ownerOf(req); owner != "" {
		var err error
		if recs, err = m.store.Running(ctx, owner, most); err != nil {
			return nil, m.publicError(ctx, "list", "", err)
		}
	}
	now := time.Now()
	list := make([]Task, 0, len(recs))
	text := "No task is running."
	if len(recs) > 0 {
		text = fmt.Sprintf("Running tasks (at most %d are listed):", most)
	}
	for i := range recs {
		list = append(list, recs[i].task(now))
		text += fmt.Sprintf("\n- %s: %s, for %v, %s", recs[i].ID, recs[i].Tool, ago(recs[i].CreatedAt), progressOf(&recs[i]))
	}
	res := wire.NewToolText(req, text)
	res.StructuredContent = map[string]any{"tasks": list}
	return res, nil
}

// findFor is find for a tool: the answer is one that a model can act on.
func (m *Manager) findFor(ctx context.Context, verb string, req *mcp.CallToolRequest, id string) (*Record, error) {
	rec, err := m.find(ctx, verb, req, id)
	if _, ok := invalidParams(err); ok {
		return nil, errors.NotFound("there is no task %q, or it has expired", shorten(id)).
			Next("call %s without task_id to see what is running", m.opts.ToolNames.Status)
	}
	return rec, err
}

// awaitNews waits until a task no longer just works, at most for d. On any
// trouble it returns what it knows.
func (m *Manager) awaitNews(ctx context.Context, rec *Record, d time.Duration) *Record {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for rec.Status == Working {
		next, err := m.watch(ctx, rec.ID, rec.Version)
		if err != nil {
			break
		}
		rec = &next
	}
	return rec
}

// describe says how a task is getting on and what to do next.
func (m *Manager) describe(rec *Record) string {
	names := &m.opts.ToolNames
	switch rec.Status {
	case Completed:
		return fmt.Sprintf("%s is done. Get its result with %s and {\"task_id\": %q}.", toolOf(rec), names.Result, rec.ID)
	case Failed:
		return fmt.Sprintf("%s failed: %s", toolOf(rec), rec.StatusMessage)
	case Cancelled:
		return fmt.Sprintf("%s was stopped. What was done until then is not undone.", toolOf(rec))
	}
	return fmt.Sprintf("%s has been running for %v: %s.\n%s", toolOf(rec), ago(rec.CreatedAt), progressOf(rec), m.advice(rec))
}

func progressOf(rec *Record) string {
	if rec.Status == InputRequired {
		return strings.TrimSuffix("waiting for input. "+rec.StatusMessage, ". ")
	}
	return strings.TrimSuffix(cmp.Or(rec.StatusMessage, string(rec.Status)), ".")
}

// toolOf names the tool of a task; that of a task which was lost in a restart is
// not known.
func toolOf(rec *Record) string { return cmp.Or(rec.Tool, "The task") }

func shorten(s string) string {
	if len(s) > maxHandle {
		return s[:maxHandle] + "..."
	}
	return s
}
