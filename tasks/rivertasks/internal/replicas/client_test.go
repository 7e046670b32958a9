//go:build unix

package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
)

const revision = "2026-07-28"

// A caller is one user. It speaks plain HTTP, to see what is on the wire and to
// choose the replica of each request.
type caller struct {
	user  string
	plain bool // without the extension
}

type object = map[string]any

// answer is what a replica replies.
type answer struct {
	Result object `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// isError reports whether a call was answered with an error, of either kind.
func (a *answer) isError() bool { return a.Error != nil || a.Result["isError"] == true }

// task returns the handle that a call was answered with, also where it came with
// a result; "" if there is none.
func (a *answer) task() string {
	if id, ok := a.Result["taskId"].(string); ok {
		return id
	}
	meta, _ := a.Result["_meta"].(object)
	task, _ := meta["steady/task"].(object)
	id, _ := task["taskId"].(string)
	return id
}

// kind is the kind of the failure that a call was answered with.
func (a *answer) kind() any {
	meta, _ := a.Result["_meta"].(object)
	failure, _ := meta["steady/error"].(object)
	return failure["kind"]
}

func (a *answer) text() string {
	if a.Error != nil {
		return a.Error.Message
	}
	var parts []string
	content, _ := a.Result["content"].([]any)
	for _, part := range content {
		text, _ := part.(object)["text"].(string)
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

var errGone = errors.New("the replica is gone")

// send sends one request to one replica. Its error says that no answer came.
func (u caller) send(ctx context.Context, r *replica, method string, params object) (*answer, error) {
	if r == nil {
		return nil, errGone
	}
	caps := object{"elicitation": object{}}
	if !u.plain {
		caps["extensions"] = object{tasks.ExtensionID: object{}}
	}
	params["_meta"] = object{
		mcp.MetaKeyProtocolVersion:    revision,
		mcp.MetaKeyClientCapabilities: caps,
		mcp.MetaKeyClientInfo:         object{"name": "test", "version": "1"},
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": revision, "Mcp-Method": method, "Authorization": "Bearer " + u.user,
	} {
		req.Header.Set(name, value)
	}
	for _, key := range []string{"name", "taskId"} {
		if name, ok := params[key].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.Join(errGone, err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, errors.Join(errGone, err)
	}
	for line := range strings.SplitSeq(string(reply), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"id"`) {
			reply = []byte(data)
		}
	}
	a := new(answer)
	if err := json.Unmarshal(reply, a); err != nil {
		return nil, fmt.Errorf("%w: %s: %q", errGone, res.Status, reply)
	}
	return a, nil
}

// ask is send to a replica that must answer.
func (u caller) ask(c *cluster, r *replica, method string, params object) *answer {
	c.t.Helper()
	a, err := u.send(c.t.Context(), r, method, params)
	require.NoError(c.t, err)
	return a
}

func (u caller) call(c *cluster, r *replica, tool string, arguments object) *answer {
	c.t.Helper()
	return u.ask(c, r, "tools/call", object{"name": tool, "arguments": arguments})
}

// create is call for one that must be answered with a handle.
func (u caller) create(c *cluster, r *replica, tool string, arguments object) (task string) {
	c.t.Helper()
	a := u.call(c, r, tool, arguments)
	require.False(c.t, a.isError(), a.text())
	require.NotEmpty(c.t, a.task(), "%v", a.Result)
	return a.task()
}

func (u caller) get(c *cluster, r *replica, task string) *answer {
	c.t.Helper()
	return u.ask(c, r, "tasks/get", object{"taskId": task})
}

// await polls a replica until a task has a status.
func (u caller) await(c *cluster, r *replica, task, status string) *answer {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		a := u.get(c, r, task)
		if a.Error == nil && a.Result["status"] == status {
			return a
		}
		require.True(c.t, time.Now().Before(deadline), "the task is not %s but %v, %s", status, a.Result, a.text())
		time.Sleep(10 * time.Millisecond)
	}
}
