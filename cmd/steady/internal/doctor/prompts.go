package doctor

import "encoding/json"

var promptProbes = []Probe{
	{ID: "unknown-prompt", Severity: poor, Title: "a prompt that does not exist is not refused as one",
		Sends: "prompts/get of doctor_no_such_prompt",
		Why:   "Clients show -32602 as a mistake of the user's; silence and internal errors end the session.",
		Fix:   "Answer -32602."},
	{ID: "prompt-arguments", Severity: poor, Title: "a prompt without its required arguments is not refused as such",
		Sends: "prompts/get without arguments",
		Why:   "The user sees an internal error and does not learn what to fill in.",
		Fix:   "Answer -32602 and name the argument."},
	{ID: "unknown-resource", Severity: poor, Title: "a resource that does not exist is not refused as one",
		Sends: "resources/read of doctor://no-such-resource",
		Why:   "Clients try again at internal errors, and take empty contents for the truth.",
		Fix:   "Answer -32002, from revision 2026-07-28 on -32602."},
	{ID: "resource-failed", Severity: poor, Title: "a resource that is listed cannot be read",
		Sends: "resources/read of the first resources",
		Why:   "A user who picks it from the list gets an error.",
		Fix:   "List what can be read."},
}

const triedResources = 5

func (e *exam) checkPrompts() {
	e.checkPromptNames()
	resources := e.lists["resources"]
	if resources == nil || !resources.last.OK() {
		return
	}
	s := e.session()
	if s == nil {
		return
	}
	e.pass("unknown-resource")
	r := s.Call("resources/read", map[string]any{"uri": "doctor://no-such-resource"}, e.opts.Timeout)
	e.judgeUnknown("unknown-resource", "resources/read", &r)
	if r.OK() {
		e.found("unknown-resource", "resources/read", &r, "a resource that does not exist is answered with success")
	}
	for i, raw := range resources.items {
		var got struct{ URI string }
		if i == triedResources || json.Unmarshal(raw, &got) != nil || got.URI == "" {
			break
		}
		if s = e.session(); s == nil {
			return
		}
		e.pass("resource-failed")
		r := s.Call("resources/read", map[string]any{"uri": got.URI}, e.opts.Timeout)
		if ended(&r) {
			e.died(got.URI, &r)
		} else if !r.OK() {
			e.found("resource-failed", got.URI, &r, "answered with %s", outcome(&r))
		}
	}
}

func (e *exam) checkPromptNames() {
	prompts := e.lists["prompts"]
	if prompts == nil || !prompts.last.OK() {
		return
	}
	s := e.session()
	if s == nil {
		return
	}
	e.pass("unknown-prompt")
	r := s.Call("prompts/get", map[string]any{"name": "doctor_no_such_prompt"}, e.opts.Timeout)
	e.judgeUnknown("unknown-prompt", "prompts/get", &r)
	if r.OK() {
		e.found("unknown-prompt", "prompts/get", &r, "a prompt that does not exist is answered with success")
	}
	for i, raw := range prompts.items {
		var got struct {
			Name      string
			Arguments []struct {
				Name     string
				Required bool
			}
		}
		if i == triedResources || json.Unmarshal(raw, &got) != nil {
			break
		}
		required := false
		for _, a := range got.Arguments {
			required = required || a.Required
		}
		if !required {
			continue
		}
		if s = e.session(); s == nil {
			return
		}
		e.pass("prompt-arguments")
		r := s.Call("prompts/get", map[string]any{"name": got.Name}, e.opts.Timeout)
		switch {
		case ended(&r):
			e.died(got.Name, &r)
		case r.Err != nil || r.Error != nil && internalCode(r.Error.Code):
			e.found("prompt-arguments", got.Name, &r, "answered with %s", outcome(&r))
		}
	}
}
