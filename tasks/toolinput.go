package tasks

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/errors"
)

// toolInput is the input of the four tools that stand in for the extension.
type toolInput struct {
	TaskID      string
	WaitSeconds *float64
	Answers     map[string]json.RawMessage
}

// Names of the arguments. Models that have seen the extension's "taskId" in a
// result use it as an argument, and mean the same.
const (
	argTask    = "task_id"
	argTaskToo = "taskId"
	argWait    = "wait_seconds"
	argAnswers = "answers"
)

// readToolInput decodes the arguments of a tool that takes the allowed ones and
// needs some of them. The SDK checks no arguments for tools that decode their
// own. Its errors are for the caller. A null is as good as nothing.
func readToolInput(tool string, raw json.RawMessage, allowed map[string]json.RawMessage, needed []string) (*toolInput, error) {
	members := map[string]json.RawMessage{}
	if len(raw) > 0 && json.Unmarshal(raw, &members) != nil {
		return nil, errors.Invalid("the arguments of %s are not an object", tool)
	}
	maps.DeleteFunc(members, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	if id, ok := members[argTaskToo]; ok {
		if other, both := members[argTask]; both && string(other) != string(id) {
			return nil, errors.Invalid("%s got two different tasks, as %s and as %s", tool, argTask, argTaskToo).Next("give only %s", argTask)
		}
		members[argTask] = id
		delete(members, argTaskToo)
	}
	var in toolInput
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if allowed[name] == nil {
			return nil, errors.Invalid("%s has no argument %q", tool, shorten(name)).
				Next("it takes %s", strings.Join(slices.Sorted(maps.Keys(allowed)), ", "))
		}
		var into any
		var want string
		switch name {
		case argTask:
			into, want = &in.TaskID, "the task's handle, a string"
		case argWait:
			into, want = &in.WaitSeconds, "a number of seconds, 0 or more"
		case argAnswers:
			into, want = &in.Answers, "an object with one answer for each key of the questions"
		}
		if json.Unmarshal(members[name], into) != nil || in.WaitSeconds != nil && *in.WaitSeconds < 0 {
			return nil, errors.Invalid("%s of %s is not valid", name, tool).Because("it must be %s", want)
		}
	}
	for _, name := range needed {
		if members[name] == nil || name == argTask && in.TaskID == "" {
			return nil, errors.Invalid("%s needs %s", tool, name)
		}
	}
	return &in, nil
}

// wait returns how long to wait for news.
func (in *toolInput) wait(most time.Duration) time.Duration {
	if in.WaitSeconds == nil || *in.WaitSeconds >= most.Seconds() {
		return most
	}
	return max(0, time.Duration(*in.WaitSeconds*float64(time.Second)))
}
