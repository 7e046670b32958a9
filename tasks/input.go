package tasks

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxOpenInputs = 64      // questions of one task that wait at the same time
	maxInputs     = 1024    // questions over the life of one task
	maxAnswer     = 1 << 20 // bytes of one answer
)

// askAll asks what a handler has returned as its input requests.
func (r *run) askAll(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	raw, err := rawRequests(requests)
	if err != nil {
		return nil, err
	}
	answers, err := r.ask(ctx, raw)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	var responses mcp.InputResponseMap
	err = json.Unmarshal(b, &responses)
	return responses, err
}

// askOne asks one question and decodes the answer into res.
func (r *run) askOne(ctx context.Context, question mcp.InputRequest, res any) error {
	raw, err := rawRequests(mcp.InputRequestMap{"input": question})
	if err != nil {
		return err
	}
	answers, err := r.ask(ctx, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(answers["input"], res)
}

// rawRequests encodes questions as the wire has them: method and params.
func rawRequests(requests mcp.InputRequestMap) (raw map[string]json.RawMessage, err error) {
	b, err := json.Marshal(requests)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(b, &raw)
	return raw, err
}

// ask parks the task as input_required and waits until every question has been
// answered. The answers are under the names that the questions have here; on
// the wire each question gets a key of its own, which is never used again
// within the task.
func (r *run) ask(ctx context.Context, questions map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(questions) == 0 {
		return nil, stderrors.New("tasks: the tool asked for input without saying which")
	}
	if r.surface == surfaceNone {
		return nil, ErrNoTask
	}
	answers, questions := r.recall(questions)
	if len(questions) == 0 {
		return answers, nil
	}
	r.beginAsking()
	defer r.endAsking()
	asked, err := r.askClient(ctx, questions)
	if err != nil {
		return nil, err
	}
	maps.Copy(answers, asked)
	return answers, nil
}

// askClient is ask for questions that nobody has answered before.
func (r *run) askClient(ctx context.Context, questions map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	var keys map[string]string // our name -> key on the wire
	rec, err := r.m.persist(ctx, r.id, func(rec *Record, _ time.Time) (err error) {
		switch {
		case rec.Run != r.number:
			return errFenced
		case rec.Status.Terminal():
			return errEnded
		}
		keys, err = rec.put(questions)
		return err
	})
	if err == nil { // only now, so that the handle shows the questions
		err = Promote(r.ctx)
	}
	for err == nil {
		if answers, ok := pick(rec.InputResponses, keys); ok {
			return answers, nil
		}
		if rec.Status.Terminal() {
			return nil, errEnded
		}
		rec, err = r.m.watch(ctx, r.id, rec.Version)
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return nil, err
}

// put adds questions to those that wait and returns the key of each.
func (r *Record) put(questions map[string]json.RawMessage) (keys map[string]string, err error) {
	if len(r.InputRequests)+len(questions) > maxOpenInputs || r.InputsAsked+len(questions) > maxInputs {
		return nil, stderrors.New("tasks: the task asks for too much input")
	}
	keys = make(map[string]string, len(questions))
	if r.InputRequests == nil {
		r.InputRequests = map[string]json.RawMessage{}
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		r.InputsAsked++
		keys[name] = fmt.Sprintf("%s-%d", name, r.InputsAsked)
		r.InputRequests[keys[name]] = questions[name]
	}
	r.Status = InputRequired
	return keys, nil
}

// pick returns the answers under the names of their questions, if all are there.
func pick(responses map[string]json.RawMessage, keys map[string]string) (map[string]json.RawMessage, bool) {
	answers := make(map[string]json.RawMessage, len(keys))
	for name, key := range keys {
		a, ok := responses[key]
		if !ok {
			return nil, false
		}
		answers[name] = a
	}
	return answers, true
}

// deliver gives a task the answers to those of its questions that wait. Answers
// to anything else are ignored, as the extension asks. An answer that does not
// fit its question is refused together with all others.
func (m *Manager) deliver(ctx context.Context, id string, responses map[string]json.RawMessage) (Record, error) {
	ctx, done := context.WithTimeout(ctx, storeAway)
	defer done()
	return m.persist(ctx, id, func(rec *Record, _ time.Time) error {
		if rec.Status.Terminal() {
			return errEnded
		}
		accepted := map[string]json.RawMessage{}
		for key, answer := range responses {
			question, waits := rec.InputRequests[key]
			if !waits {
				continue
			}
			if err := checkAnswer(question, answer); err != nil {
				return errInvalidParams(fmt.Sprintf("The answer %q does not fit: %v", key, err))
			}
			accepted[key] = answer
		}
		if len(accepted) == 0 {
			return errNoAnswer
		}
		if rec.InputResponses == nil {
			rec.InputResponses, rec.Answered = map[string]json.RawMessage{}, map[string]string{}
		}
		for key, answer := range accepted {
			rec.Answered[key] = hash(rec.InputRequests[key])
			rec.InputResponses[key] = answer
			delete(rec.InputRequests, key)
		}
		if len(rec.InputRequests) == 0 {
			return rec.resume()
		}
		return nil
	})
}

// errNoAnswer says that nothing among the answers was asked for.
var errNoAnswer = stderrors.New("tasks: no such question waits for an answer")

// checkAnswer reports whether an answer has the form that its question asks for.
func checkAnswer(question, answer json.RawMessage) error {
	if len(answer) > maxAnswer {
		return fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	var q struct {
		Method string `json:"method"`
		Params struct {
			RequestedSchema json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	}
	if err := json.Unmarshal(question, &q); err != nil {
		return err
	}
	switch q.Method {
	case methodElicit:
		return checkElicitation(q.Params.RequestedSchema, answer)
	case methodSample:
		return checkMember(answer, "role")
	case methodListRoots:
		return checkMember(answer, "roots")
	}
	return nil
}

func checkMember(answer json.RawMessage, name string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return err
	}
	if members[name] == nil {
		return fmt.Errorf("it lacks %q", name)
	}
	// The SDK decodes the answer once more; what it refuses is refused here.
	return json.Unmarshal(fmt.Appendf(nil, `{"answer":%s}`, answer), new(mcp.InputResponseMap))
}

func checkElicitation(schema, answer json.RawMessage) error {
	var res mcp.ElicitResult
	if err := json.Unmarshal(answer, &res); err != nil {
		return err
	}
	switch res.Action {
	case "decline", "cancel":
		return nil
	case "accept":
	default:
		return fmt.Errorf("its action is %q, not accept, decline or cancel", res.Action)
	}
	if len(schema) == 0 {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(schema, &s) != nil {
		return nil // not a schema that we understand: the handler will see
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	content := res.Content
	if content == nil {
		content = map[string]any{}
	}
	return resolved.Validate(content)
}
