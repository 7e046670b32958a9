package tasks

import (
	"encoding/json"
	stderrors "errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file is about tasks that wait for input: what they hold meanwhile, and how
// another run goes on with the answers.

// park ends a run that came back for more input. The answers start another one,
// in whatever process.
func (r *run) park(res *mcp.CallToolResult) error {
	if r.surface == surfaceNone {
		return ErrNoTask
	}
	questions, err := rawRequests(res.InputRequests)
	if err != nil {
		return err
	}
	if len(questions) == 0 {
		return stderrors.New("tasks: the tool asked for input without saying which")
	}
	_, err = r.m.persist(r.m.life, r.id, func(rec *Record, now time.Time) error {
		switch {
		case rec.Run != r.number:
			return errFenced
		case rec.Status.Terminal():
			return errEnded
		}
		rec.InputRequests, rec.InputResponses, rec.Answered = nil, nil, nil
		if _, err := rec.put(questions); err != nil {
			return err
		}
		rec.Parked, rec.RequestState, rec.Responses = true, res.RequestState, nil
		rec.Worker, rec.ParkedUntil = "", now.Add(r.policy.withDefaults().MaxRun)
		rec.Disclosed = true // nobody else could answer
		return nil
	})
	return err
}

// resume makes a task whose questions are all answered go on: with the run that
// waits for them, or with another one if there is none.
func (rec *Record) resume() error {
	rec.Status = Working
	if rec.Worker != "" {
		return nil
	}
	rec.Run++
	if !rec.Parked {
		return nil
	}
	byName := map[string]json.RawMessage{}
	for key, answer := range rec.InputResponses {
		byName[key[:strings.LastIndexByte(key, '-')]] = answer
	}
	responses, err := json.Marshal(byName)
	if err != nil {
		return err
	}
	rec.Responses = responses
	rec.InputResponses, rec.Answered, rec.Parked = nil, nil, false
	return nil
}

// replays are the keys of the recorded answers that a run has used.
type replays struct {
	mu   sync.Mutex
	used map[string]bool
}

// recall takes from questions those that an earlier run of the task was answered,
// and returns the answers.
func (r *run) recall(questions map[string]json.RawMessage) (answers, open map[string]json.RawMessage) {
	answers = map[string]json.RawMessage{}
	if r.replay == nil || len(r.replay.Answered) == 0 {
		return answers, questions
	}
	r.replayed.mu.Lock()
	defer r.replayed.mu.Unlock()
	open = map[string]json.RawMessage{}
	for name, question := range questions {
		if key := r.answered(name, hash(question)); key != "" {
			answers[name] = r.replay.InputResponses[key]
		} else {
			open[name] = question
		}
	}
	return answers, open
}

// answered returns the key of the first answer that was given to a question and
// has not been used.
func (r *run) answered(name, digest string) (first string) {
	for key, d := range r.replay.Answered {
		if d != digest || r.replayed.used[key] || !strings.HasPrefix(key, name+"-") {
			continue
		}
		if first == "" || len(key) < len(first) || len(key) == len(first) && key < first {
			first = key // the number is the same prefix's
		}
	}
	if first != "" {
		if r.replayed.used == nil {
			r.replayed.used = map[string]bool{}
		}
		r.replayed.used[first] = true
	}
	return first
}

// asking counts the questions of a run that wait.
type asking struct {
	mu    sync.Mutex
	n     int
	once  sync.Once // the first has been asked
	freed bool      // the run has given its slot away, and takes another
}

// beginAsking frees what a run does not need while it waits for input: its slot,
// and the worker of whoever started it.
func (r *run) beginAsking() {
	r.asking.once.Do(func() { close(r.waiting) })
	r.asking.mu.Lock()
	defer r.asking.mu.Unlock()
	r.asking.n++
	if r.slotted {
		r.slots.release()
		r.slotted, r.asking.freed = false, true
	}
}

// endAsking waits for a slot again, if it was the last question.
func (r *run) endAsking() {
	r.asking.mu.Lock()
	defer r.asking.mu.Unlock()
	r.asking.n--
	if r.asking.n == 0 && r.asking.freed {
		r.slots.waiting.Add(1)
		r.slotted = r.slots.wait(r.ctx) == nil
		r.asking.freed = false
	}
}

// freeSlot gives the slot back, if the run has one.
func (r *run) freeSlot() {
	r.asking.mu.Lock()
	defer r.asking.mu.Unlock()
	if r.slotted {
		r.slots.release()
		r.slotted = false
	}
}
