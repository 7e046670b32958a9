package fleet

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// maxHandles is how many tasks are remembered, and maxHandle how long a handle
// may be that is.
const (
	maxHandles = 10_000
	maxHandle  = 512
)

// Handles are who has made which task. Of too many, the oldest are forgotten.
type handles struct {
	owner map[string]*child // nil if two have made it
	order []string
}

func (h *handles) add(id string, c *child) {
	if h.owner == nil {
		h.owner = map[string]*child{}
	}
	if old, ok := h.owner[id]; ok {
		if old != c {
			h.owner[id] = nil
		}
		return
	}
	if len(h.order) >= maxHandles {
		delete(h.owner, h.order[0])
		h.order = h.order[1:]
	}
	h.owner[id] = c
	h.order = append(h.order, id)
}

// noteHandle remembers who has made a task: "task" is what revision 2025-11-25
// has in a result, and the rest the extension of later ones.
func (f *fleet) noteHandle(c *child, a *message) {
	if a.result == nil || !bytes.Contains(a.result, []byte(`"taskId"`)) {
		return
	}
	id := jsonl.Member(jsonl.Member(a.result, "task"), "taskId")
	if id == nil && string(jsonl.Member(a.result, "resultType")) == `"task"` {
		id = jsonl.Member(a.result, "taskId")
	}
	if text, ok := jsonl.Text(orNull(id)); ok {
		f.addHandle(c, text)
	}
}

func (f *fleet) addHandle(c *child, id string) {
	if len(id) > maxHandle {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handles.add(id, c)
}

const noTasks = "none of the servers behind this endpoint has tasks"

// ofHandle returns who has made a task, or the only child that has tasks.
func (f *fleet) ofHandle(id string) (*child, string) {
	f.mu.Lock()
	c, ok := f.handles.owner[id]
	f.mu.Unlock()
	switch {
	case c != nil:
		return c, ""
	case ok:
		return nil, "more than one server has made a task with this handle"
	}
	for _, other := range f.children {
		if !other.is(ready) || !other.greeting().knows("tasks/get") {
			continue
		}
		if c != nil {
			return nil, "none of the servers behind this endpoint has made it in this session"
		}
		c = other
	}
	if c == nil {
		return nil, noTasks
	}
	return c, ""
}

// byHandle sends a request about a task to who has made it.
func (f *fleet) byHandle(r *request) {
	_, id, ok := nameIn(r.params, "taskId")
	if !ok {
		f.byCapability(r)
		return
	}
	c, why := f.ofHandle(id)
	if why == noTasks {
		f.byCapability(r)
		return
	}
	if c == nil {
		f.refuse(r, rpc.Params, fmt.Sprintf("Unknown task %.100q: %s.", id, why), nil)
		return
	}
	f.forward(r, &r.message, c)
}

// all sends the request to several children. It has succeeded if one of them says
// so, and who has not answered in time is not waited for.
func (f *fleet) all(r *request, to []*child) {
	ctx, stop := context.WithTimeout(r.ctx, f.opts.Start)
	defer stop()
	var wait sync.WaitGroup
	answers := make([]*message, len(to))
	for i, c := range to {
		wait.Go(func() {
			var err error
			if answers[i], err = c.call(ctx, r.method, r.params); err != nil {
				f.log.Say("server %s: %v", c.Name, err)
			}
		})
	}
	wait.Wait()
	var failed *message
	for _, a := range answers {
		switch {
		case a != nil && a.result != nil:
			f.finishRequest(r, result(r.id, a.result))
			return
		case a != nil && failed == nil:
			failed = a
		}
	}
	if failed == nil {
		f.refuse(r, rpc.Unavailable, "None of the servers has answered in time.", nil)
		return
	}
	f.finishRequest(r, jsonl.Splice(failed.raw, jsonl.Edit{Part: failed.id, With: r.id}))
}
